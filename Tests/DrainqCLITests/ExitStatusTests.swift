import DrainqCLI
import Testing

struct ExitStatusTests {
    @Test func `the first that applies wins, in the order of the contract`() {
        let order: [Int32] = [130, 143, 64, 78, 66, 77, 70, 74, 69, 1, 65, 75, 0]
        #expect(ExitStatus.allCases.map(\.rawValue) == order)
        for (index, status) in ExitStatus.allCases.enumerated() {
            #expect(ExitStatus.first(of: ExitStatus.allCases[index...].shuffled()) == status)
        }
    }

    @Test func `where nothing applies all is well`() {
        #expect(ExitStatus.first(of: []) == .ok)
    }
}
