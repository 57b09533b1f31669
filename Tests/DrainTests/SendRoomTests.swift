import Spool
import Testing

@testable import Drain
@testable import Policy

/// The room that `send` needs is counted when its operation stays.
struct SendRoomTests {
    @Test func `send drops nothing if there is room by its end`() throws {
        let bench = try Bench()
        bench.configuration.limits = Limits(operations: 2, whenFull: .dropOldest)
        try bench.add(2)
        let sent = try bench.send("c") { _ in
            // Another run delivers an operation meanwhile.
            do {
                let run = try bench.spool.beginRun(now: bench.now)
                let name = try #require(try bench.names(.new).last)
                let claim = try #require(try run.claim(Entry(state: .new, name: name)))
                let record = AttemptRecord(at: bench.now, duration: .zero, outcome: .delivered, rule: "204")
                let receipt = try run.receipt(of: run.begin([claim]), for: [(claim, record)], keep: false)
                _ = try run.settle(claim, .delivered(keep: false), record: nil, receipt: receipt, now: bench.now)
                try run.end()
            } catch {
                Issue.record(error)
            }
            return .status(503)
        }
        guard case .postponed(let postponement) = sent else {
            Issue.record("not queued")
            return
        }
        #expect(postponement.displaced?.evicted.isEmpty == true && postponement.displaced?.errors.isEmpty == true)
        #expect(try bench.names(.new).map(\.id.description) == ["default-0"])
        #expect(try bench.names(.deferred).count == 1)
    }

    @Test(arguments: [1, 2])
    func `send does not wait for an operation that it has dropped`(limit: Int) throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.ordering = .strict
        bench.configuration.limits = Limits(operations: limit, whenFull: .dropOldest)
        let later = bench.now + .seconds(60)
        try bench.add(limit) { $0.notBefore = later }
        let sent = try bench.send("c")
        guard case .postponed(let postponement) = sent else {
            Issue.record("not queued")
            return
        }
        #expect(postponement.displaced?.evicted.map(\.name.id.description) == ["default-0"])
        #expect(sent.wait == (limit == 1 ? nil : .older(OperationID("default-1")!)))
        #expect(sent.reason == (limit == 1 ? "the next run may send it" : ""))
        #expect(try bench.run().delivered == (limit == 1 ? 1 : 0))
    }
}
