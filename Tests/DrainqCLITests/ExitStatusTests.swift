import DrainqCLI
import Testing

struct ExitStatusTests {
    @Test func `the first status in the order of the contract wins`() {
        let order: [Int32] = [129, 130, 143, 64, 78, 66, 77, 70, 74, 69, 1, 65, 75, 2, 3, 0]
        #expect(ExitStatus.allCases.map(\.rawValue) == order)
        for (index, status) in ExitStatus.allCases.enumerated() {
            #expect(ExitStatus.first(of: ExitStatus.allCases[index...].shuffled()) == status)
        }
    }

    /// A defect may occur at any time. The listed statuses are decided before the first attempt.
    @Test func `only statuses decided before the work promise no attempt`() {
        let promising = ExitStatus.allCases.filter { $0.meaning.contains("no attempt was made") }
        #expect(promising == [.usage, .configuration, .permission])
    }

    @Test func `the status without a finding is ok`() {
        #expect(ExitStatus.first(of: []) == .ok)
    }
}
