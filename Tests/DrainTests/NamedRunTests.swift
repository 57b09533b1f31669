import Delivery
import Policy
import Spool
import Testing

@testable import Drain

/// `run ID…`: these operations now, whatever they wait for but a hold.
struct NamedRunTests {
    private func options(_ ids: String...) -> RunOptions {
        RunOptions(ids: Set(ids.map { OperationID($0)! }))
    }

    @Test func `only what is named is sent`() throws {
        let bench = try Bench()
        try bench.add(5)
        let summary = try bench.run(options("default-1", "default-3"))
        #expect(bench.bodies == ["1", "3"])
        #expect(summary.delivered == 2 && summary.leftDue == 0)
        #expect(try bench.names(.new).count == 3)
    }

    @Test func `what waits for another attempt, or asked for a later time, is sent`() throws {
        let bench = try Bench()
        try bench.add(2)
        _ = try bench.run { _ in .status(503) }
        try bench.add(1) { $0.notBefore = bench.now + .seconds(86_400) }
        #expect(try bench.run().attempts == 0)
        #expect(try bench.run(RunOptions(ignoresBackoff: true, types: [TypeName("other")!])).attempts == 0)
        #expect(try bench.run(options("default-1", "default-2")).delivered == 2)
        #expect(bench.bodies == ["1", "2"])
    }

    @Test
    func `a circuit breaker that is open and conditions that are not met are overridden, a hold and a pause are not`()
        throws
    {
        let bench = try Bench()
        bench.configuration.conditions = Conditions(network: .unmetered)
        bench.configuration.defaultRoute.retry.attempts = 9
        try bench.add(1)
        bench.surroundings.isMetered = true
        #expect(try bench.run().attempts == 0)
        #expect(try bench.run(RunOptions(ignoresBackoff: true)) { _ in .status(503) }.attempts == 1)
        #expect(try bench.run(options("default-0")) { _ in .status(503) }.attempts == 1)
        let ledger = DestinationsFile(spool: bench.spool)
        let event = DestinationEvent.heldByHand(reason: "no")
        _ = try ledger.record(
            [("http://one", event)], settings: { _ in DestinationSettings() }, at: bench.now, durable: false)
        let held = try bench.run(options("default-0"))
        #expect(held.attempts == 0 && held.held == 1)
        try bench.spool.setPaused(true)
        #expect(try bench.run(options("default-0")).end == .paused)
    }

    @Test func `the time that a server asked for is kept`() throws {
        let bench = try Bench()
        try bench.add(1)
        _ = try bench.run { _ in .status(429, [HeaderField(name: "Retry-After", value: "100")]) }
        let summary = try bench.run(options("default-0"))
        #expect(summary.attempts == 0 && summary.waiting == 1)
    }

    @Test func `what this run has deferred is not sent by it again`() throws {
        let bench = try Bench()
        try bench.add(1)
        var options = options("default-0")
        options.stay = .during(.milliseconds(10))
        #expect(try bench.run(options) { _ in .status(503) }.attempts == 1)
    }

    @Test func `an operation that was refused and waits for another one is sent`() throws {
        let bench = try Bench()
        try bench.add(1)
        #expect(try bench.run { _ in .status(403) }.attempts == 1)
        #expect(try bench.run(RunOptions(ignoresBackoff: true)).attempts == 0)
        #expect(try bench.run(options("default-0")).delivered == 1)
    }

    @Test(arguments: [Ordering.key, .strict])
    func `an older operation of the sequence goes first, also where it is not named`(ordering: Ordering) throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.ordering = ordering
        try bench.add(3) { $0.key = "a" }
        #expect(try bench.run(options("default-1")).attempts == 0)
        #expect(try bench.run(options("default-0", "default-1")).delivered == 2)
        #expect(bench.bodies == ["0", "1"])
    }

    @Test func `of one key the newest stands for the older ones, whichever is named`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.coalesce = true
        try bench.add(2) { $0.key = "a" }
        try bench.add(2) { $0.key = "b" }
        let older = try bench.run(options("default-0"))
        #expect(older.attempts == 0 && older.superseded == 1)
        let newest = try bench.run(options("default-3"))
        #expect(newest.delivered == 1 && newest.superseded == 1)
        #expect(try bench.names(.new).map(\.id.description) == ["default-1"])
    }
}
