import Delivery
import Policy
import Spool
import Testing

@testable import Drain

/// `run ID…`: sends the named operations now, unless a hold, a pause or a retry-after stops them.
struct NamedRunTests {
    private func options(_ ids: String...) -> RunOptions {
        RunOptions(ids: Set(ids.map { OperationID($0)! }))
    }

    @Test func `only named operations are sent`() throws {
        let bench = try Bench()
        try bench.add(5)
        let summary = try bench.run(options("default-1", "default-3"))
        #expect(bench.bodies == ["1", "3"])
        #expect(summary.delivered == 2 && summary.leftDue == 0)
        #expect(try bench.names(.new).count == 3)
    }

    @Test func `a named operation is sent before its due time and before its notBefore time`() throws {
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
    func `a named run overrides backoff and unmet conditions, but no hold and no pause`() throws {
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

    @Test func `a named run sends to a destination whose circuit breaker is open`() throws {
        let bench = try Bench()
        try bench.add(20)
        _ = try bench.run(RunOptions(concurrency: 1)) { _ in .failure(.refused, detail: "") }
        let waiting = try bench.run()
        #expect(waiting.attempts == 0 && waiting.waiting == 15)
        #expect(try bench.run(options("default-0", "default-9")).delivered == 2)
    }

    @Test func `a named run respects a retry-after`() throws {
        let bench = try Bench()
        try bench.add(1)
        _ = try bench.run { _ in .status(429, [HeaderField(name: "Retry-After", value: "100")]) }
        let summary = try bench.run(options("default-0"))
        #expect(summary.attempts == 0 && summary.waiting == 1)
    }

    @Test func `a named run does not send again an operation deferred by the run itself`() throws {
        let bench = try Bench()
        try bench.add(1)
        var options = options("default-0")
        options.stay = .during(.milliseconds(10))
        #expect(try bench.run(options) { _ in .status(503) }.attempts == 1)
    }

    @Test func `a named run sends a parked operation`() throws {
        let bench = try Bench()
        try bench.add(1)
        #expect(try bench.run { _ in .status(403) }.attempts == 1)
        #expect(try bench.run(RunOptions(ignoresBackoff: true)).attempts == 0)
        #expect(try bench.run(options("default-0")).delivered == 1)
    }

    @Test(arguments: [Ordering.key, .strict])
    func `a named operation waits for an older operation of its sequence, named or not`(ordering: Ordering) throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.ordering = ordering
        try bench.add(3) { $0.key = "a" }
        #expect(try bench.run(options("default-1")).attempts == 0)
        #expect(try bench.run(options("default-0", "default-1")).delivered == 2)
        #expect(bench.bodies == ["0", "1"])
    }

    @Test func `the newest value of a key supersedes the older values, whichever value is named`() throws {
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
