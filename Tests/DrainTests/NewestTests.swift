import Spool
import Testing

@testable import Drain
@testable import Policy

struct NewestTests {
    private func bench(_ change: (inout Route) -> Void = { _ in }) throws -> Bench {
        let bench = try Bench()
        bench.configuration.defaultRoute.ordering = .newest
        change(&bench.configuration.defaultRoute)
        return bench
    }

    @Test func `the newest operation is sent first`() throws {
        let bench = try bench()
        try bench.add(5)
        _ = try bench.run(RunOptions(limit: 2, concurrency: 1))
        #expect(bench.bodies.prefix(2) == ["4", "3"])
        try bench.add(1)
        _ = try bench.run(RunOptions(concurrency: 1))
        #expect(bench.bodies.suffix(4) == ["5", "2", "1", "0"])
    }

    @Test func `a deferred operation does not stop older operations`() throws {
        let bench = try bench()
        try bench.add(3)
        let summary = try bench.run(RunOptions(concurrency: 1)) { _ in .status(bench.bodies.last == "2" ? 503 : 200) }
        #expect(bench.bodies == ["2", "1", "0"] && summary.delivered == 2)
    }

    @Test func `the newest value of a key supersedes the older values, and newer keys go first`() throws {
        let bench = try bench { $0.coalesce = true }
        try bench.add(2) { $0.key = "a" }
        try bench.add(2) { $0.key = "b" }
        let summary = try bench.run(RunOptions(concurrency: 1))
        #expect(bench.bodies == ["3", "1"] && summary.superseded == 2)
    }

    /// `run ID` names a value whose time has not come.
    @Test(arguments: [401, 204])
    func `what is sent before its time replaces older values with its delivery, not before`(status: Int) throws {
        let bench = try bench { $0.coalesce = true }
        try bench.add(1) { $0.key = "a" }
        let later = bench.now + .seconds(86_400)
        let scheduled = try bench.add(1) { ($0.key, $0.notBefore) = ("a", later) }[0]
        _ = try bench.run(RunOptions(ids: [OperationID(scheduled)!])) { _ in .status(status) }
        #expect(bench.bodies == ["1"])
        #expect(try bench.names(.new).map(\.id.description).contains("default-0") == (status == 401))
    }

    /// The run has died before it removed them. When it began the request, the time of the newer value had not come.
    @Test func `recovery of a delivery removes the older values that a run may have left`() throws {
        let bench = try bench { $0.coalesce = true }
        try bench.add(1) { $0.key = "a" }
        let later = bench.now + .seconds(60)
        try bench.add(1) { ($0.key, $0.notBefore) = ("a", later) }
        do {
            let run = try bench.spool.beginRun(now: bench.now)
            let newer = try #require(try bench.names(.new).max { $0.createdAt < $1.createdAt })
            let claim = try #require(try run.claim(Entry(state: .new, name: newer)))
            let record = AttemptRecord(at: bench.now, duration: .zero, outcome: .delivered, rule: "204")
            _ = try run.receipt(of: run.begin([claim]), for: [(claim, record)], keep: false)
        }
        bench.pass(.seconds(120))
        #expect(try bench.run().delivered == 1)
        #expect(try bench.bodies.isEmpty && bench.names(.new).isEmpty)
    }

    @Test func `a destination that is down is probed with the newest of the operations that had no request`() throws {
        let bench = try bench()
        try bench.add(8)
        _ = try bench.run(RunOptions(concurrency: 1)) { _ in .failure(.refused, detail: "") }
        #expect(bench.bodies == ["7", "6", "5", "4", "3"])
        bench.now = bench.now + .seconds(2)
        _ = try bench.run(RunOptions(concurrency: 1)) { _ in .failure(.refused, detail: "") }
        #expect(bench.bodies.first == "2")
    }

    @Test func `a hold is probed with the newest operation, also if the limit leaves older ones`() throws {
        let bench = try bench()
        try bench.add(8)
        _ = try bench.run { _ in .status(401) }
        bench.pass(.seconds(3601))
        _ = try bench.run(RunOptions(limit: 4, concurrency: 1)) { _ in .status(401) }
        #expect(bench.bodies.last == "7")
    }

    @Test func `a sample that the storm guard does not need any more goes in its turn`() throws {
        let bench = try bench()
        try bench.add(10)
        let summary = try bench.run(RunOptions(concurrency: 1)) {
            Int(String(decoding: $0.body ?? [], as: UTF8.self))! < 5 ? .status(200) : .status(400)
        }
        #expect(bench.bodies == ["9", "8", "7", "6", "5", "0", "4", "3", "2", "1"])
        #expect(summary.failed == 5 && summary.delivered == 5)
    }

    @Test func `the order newest has no sequence, and refuses onFailure 'hold'`() {
        let route = Route(ordering: .newest, onFailure: .hold)
        #expect(route.problems.map(\.key) == ["onFailure"])
        #expect(!route.isSequential && !route.holdsBehindFailed)
    }
}
