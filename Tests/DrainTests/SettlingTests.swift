import Delivery
import Foundation
import Policy
import Spool
import Testing

@testable import Drain

/// The effect of a verdict on a file, without a sink.
struct SettlingTests {
    private func settle(_ status: Int, _ count: Int = 1) throws -> (Parts, Bench) {
        let bench = try Bench()
        try bench.add(count)
        let parts = try Parts(bench)
        for attempt in try parts.attempts() {
            let report = SealedReport(AttemptReport(result: .status(status), duration: .zero), .none)
            let meaning = attempt.meaning(of: report, nil, at: bench.now)
            parts.dispatch.settling.settle(AttemptAnswer(attempt: attempt, report: report, verdict: meaning.together))
        }
        return (parts, bench)
    }

    @Test(arguments: [
        (204, "delivered", QueueState?.none), (500, "deferred", .deferred), (404, "failed", .failed), (401, "", .new),
    ])
    func `a verdict decides the state of the file and the count`(status: Int, count: String, state: QueueState?) throws
    {
        let (parts, bench) = try settle(status)
        let summary = parts.tally.summary
        #expect(summary.delivered == (count == "delivered" ? 1 : 0))
        #expect(parts.dispatch.settling.operations.deferred.count == (count == "deferred" ? 1 : 0))
        #expect(summary.failed == (count == "failed" ? 1 : 0))
        for place in [QueueState.new, .deferred, .failed, .claimed] {
            #expect(try bench.names(place).count == (place == state ? 1 : 0), "\(place)")
        }
    }

    @Test func `a deferred operation counts although another one of its id is delivered`() throws {
        let bench = try Bench()
        // Files moved in from two queues.
        for _ in 1...2 { try bench.add(1) { $0.id = OperationID("a")! } }
        var statuses = [503, 204]
        let summary = try bench.run(RunOptions(concurrency: .atMost(1))) { _ in .status(statuses.removeFirst()) }
        #expect(summary.delivered == 1 && summary.deferred == 1 && summary.outcomes == [.deferred])
    }

    /// Another process keeps the names lock for longer than the answer waits.
    @Test func `a delivered value stays, and is not sent again, until its dead letters are gone`() throws {
        var system = SystemCalls.real
        system.sleep = { _ in }
        let bench = try Bench(system: system)
        bench.configuration.defaultRoute.coalesce = true
        try bench.add(1) { $0.key = "k" }
        _ = try bench.run { _ in .status(404) }
        try bench.add(1) { $0.key = "k" }
        do {
            let parts = try Parts(bench)
            let attempt = try #require(try parts.attempts().first)
            let report = SealedReport(AttemptReport(result: .status(204), duration: .zero), .none)
            let verdict = attempt.meaning(of: report, nil, at: bench.now).together
            attempt.request = parts.dispatch.settling.spoolRun.begin(attempt.members.compactMap(\.claim))
            let holder = try SpoolDirectory(opening: bench.directory.path)
            try holder.withNamesLock { () throws(SpoolError) in
                _ = parts.dispatch.settling.settle(AttemptAnswer(attempt: attempt, report: report, verdict: verdict))
            }
            #expect(try bench.names(.failed).count == 1 && bench.names(.claimed).count == 1)
            #expect(parts.tally.summary.delivered == 0 && !parts.tally.hasEnded)
        }
        let summary = try bench.run { _ in .status(204) }
        #expect(summary.superseded == 1 && summary.recovered == 0 && bench.bodies == ["0"])
        #expect(try bench.names(.failed).isEmpty && bench.names(.claimed).isEmpty)
    }

    @Test func `settled files are synced when the sync is due`() throws {
        let (parts, bench) = try settle(204, 3)
        let next = parts.dispatch.settling.syncDue
        let due = try #require(next)
        #expect(due <= bench.instant)
        parts.dispatch.settling.syncOrEndRun()
        #expect(!parts.tally.hasEnded && parts.dispatch.settling.syncDue == nil)
    }

    @Test func `operations put back keep their names, and are not charged`() throws {
        let bench = try Bench()
        try bench.add(3)
        let before = try bench.names(.new)
        let parts = try Parts(bench)
        let attempts = try parts.attempts()
        #expect(try bench.names(.new).isEmpty && parts.dispatch.queue.claimTries == 3)
        parts.dispatch.settling.putBack(attempts.flatMap(\.members).compactMap(\.claim))
        #expect(try bench.names(.new) == before)
        #expect(bench.events.isEmpty)
    }

    @Test func `operations sent apart are chosen again`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.coalesce = true
        try bench.add(1) { $0.key = "a" }
        let parts = try Parts(bench)
        for attempt in try parts.attempts() {
            try parts.dispatch.sendApart(attempt.members, attempt.destination)
        }
        #expect(parts.dispatch.settling.hasToListAgain && parts.dispatch.settling.operations.apart.count == 1)
        #expect(parts.dispatch.queue.claimTries == 0)
    }
}
