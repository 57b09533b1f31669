import Drain
import Policy
import Testing

@testable import DrainqCLI

struct WatchedWorkTests {
    private static let start = Timestamp(rfc3339: "2026-11-21T12:00:00Z")!

    private func status(due: Int, claimed: Int) -> QueueStatus {
        var status = QueueStatus(of: [], at: Timestamp(rfc3339: "2026-11-21T12:00:00Z")!)
        (status.health.due, status.health.states) = (due, [.claimed: claimed])
        return status
    }

    @Test func `the rate and the time left are measured from the first sight of the run`() {
        var work = WatchedWork()
        func look(_ second: Int, _ due: Int, _ claimed: Int) -> String? {
            work.sentence(of: status(due: due, claimed: claimed), at: Self.start + .seconds(second))
        }
        #expect(look(0, 100, 0) == nil)
        #expect(look(2, 95, 5) == "a run is at work: 5 in flight, 100 left")
        #expect(look(4, 55, 5) == "a run is at work: 5 in flight, 60 left, 20/s, about 3s to go")
        #expect(look(12, 45, 5) == "a run is at work: 5 in flight, 50 left, 5.0/s, about 10s to go")
        #expect(look(14, 200, 5) == "a run is at work: 5 in flight, 205 left", "more was added than was done")
        #expect(look(16, 0, 0) == nil && look(18, 9, 1) == "a run is at work: 1 in flight, 10 left")
    }
}
