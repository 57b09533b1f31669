import Policy
import Spool
import Testing

@testable import Drain

/// What is known of destinations, and what the ledger is told.
struct DestinationBookTests {
    private func hold(_ parts: Parts, _ destination: RunDestination) {
        parts.book.hold(destination, nil, reason: .storm(status: 404, answers: 5))
        parts.book.tell()
    }

    @Test func `what one book tells another one reads`() throws {
        let bench = try Bench()
        let (one, other) = (try Parts(bench), try Parts(bench))
        let identity = Destination(named: "http://one")
        hold(one, one.book.destination(identity, bench.now))
        #expect(try other.book.read(identity, bench.now).block?.reason == .held)
    }

    @Test func `a hold ends when what it was blamed on has changed`() throws {
        let bench = try Bench()
        let one = try Parts(bench)
        let identity = Destination(named: "http://one")
        hold(one, one.book.destination(identity, bench.now))
        bench.configuration.destinations["http://one"] = DestinationSettings(transport: .urlsession)
        let other = try Parts(bench)
        #expect(try other.book.read(identity, bench.now).block == nil)
        #expect(bench.events.contains { if case .holdEnded = $0 { true } else { false } })
    }

    @Test func `what is left of a closed destination is counted by what closes it`() throws {
        let bench = try Bench()
        let parts = try Parts(bench)
        for (name, reason) in [("a", Availability.Block.Reason.held), ("b", .paused), ("c", .circuitBreaker)] {
            let destination = parts.book.destination(Destination(named: name), bench.now)
            destination.block = Availability.Block(reason)
            destination.skipped = 2
        }
        parts.book.countLeft(of: Pass(began: bench.instant), begun: 0)
        let summary = parts.tally.summary
        #expect(summary.held == 2 && summary.paused == 2 && summary.waiting == 2 && summary.leftDue == 0)
    }
}
