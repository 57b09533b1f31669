import DrainqCLI
import Testing

struct ExitStatusTests {
    @Test func `the first that applies wins, in the order of the contract`() {
        let order: [Int32] = [129, 130, 143, 64, 78, 66, 77, 70, 74, 69, 1, 65, 75, 0]
        #expect(ExitStatus.allCases.map(\.rawValue) == order)
        for (index, status) in ExitStatus.allCases.enumerated() {
            #expect(ExitStatus.first(of: ExitStatus.allCases[index...].shuffled()) == status)
        }
    }

    /// A defect may show itself at any time; the other statuses are decided before the first attempt.
    @Test func `only what is found before the work says that no attempt was made`() {
        let promising = ExitStatus.allCases.filter { $0.meaning.contains("no attempt was made") }
        #expect(promising == [.usage, .configuration, .permission])
    }

    @Test func `where nothing applies all is well`() {
        #expect(ExitStatus.first(of: []) == .ok)
    }
}
