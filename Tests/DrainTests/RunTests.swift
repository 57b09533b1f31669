import CSystem
import Delivery
import Foundation
import Spool
import Testing

@testable import Drain
@testable import Policy

struct RunTests {
    @Test func `a run with nothing due starts no sink`() throws {
        let bench = try Bench()
        let summary = try bench.run()
        #expect(bench.sink == nil)
        #expect(summary.attempts == 0 && summary.end == .done)
    }

    @Test func `a run attempts operations in order, and never more at once than its concurrency`() throws {
        let bench = try Bench()
        try bench.add(12)
        let summary = try bench.run(RunOptions(limit: 10, concurrency: 3))
        #expect(
            bench.sink?.requests.map { String(decoding: $0.body ?? [], as: UTF8.self) } == (0..<10).map(String.init))
        #expect(bench.sink?.mostInFlight == 3)
        #expect(bench.sink?.isClosed == true)
        #expect(summary.delivered == 10 && summary.leftDue == 2)
    }

    @Test func `due operations are chosen in portions, up to the limit, oldest first`() throws {
        let bench = try Bench()
        try bench.add(10)
        var sent: [String] = []
        let summary = try bench.run(RunOptions(limit: 8, concurrency: 1), portion: 3) { request in
            sent.append(String(decoding: request.body ?? [], as: UTF8.self))
            return .status(204)
        }
        #expect(summary.delivered == 8 && summary.leftDue == 2)
        #expect(sent == (0..<8).map(String.init))
        let chosen = bench.events.compactMap { event in
            if case .chosen(let count, let left) = event { "\(count) and \(left)" } else { nil }
        }
        #expect(chosen == ["8 and 2", "5 and 2", "2 and 2"])
    }

    @Test func `a run without its lock stops, reports the loss once, and leaves its claims to the next run`() throws {
        let bench = try Bench()
        try bench.add(5)
        var (elapsed, isLost) = (Duration.zero, false)
        var system = SystemCalls.real
        system.elapsed = { elapsed }
        system.lock = { descriptor throws(Errno) in
            // The first check after the loss fails. Other locks stay as before.
            if isLost {
                isLost = false
                return false
            }
            return try SystemCalls.real.lock(descriptor)
        }
        var events: [RunEvent] = []
        let run = Run(
            spool: try SpoolDirectory(opening: bench.directory.path, system: system),
            configuration: bench.configuration, options: RunOptions(concurrency: 2),
            world: bench.world { _ in
                (elapsed, isLost) = (.seconds(1), true)
                return .status(204)
            }
        ) { events.append($0) }
        let summary = try run()
        #expect(summary.delivered == 0 && summary.inputOutputErrors == 1)
        #expect(events.count { if case .inputOutputError = $0 { true } else { false } } == 1)
        guard case .broken(let reason) = summary.end else { throw Errno(0) }
        #expect(reason.hasPrefix("cannot keep 'claimed/"))
        #expect(try bench.names(.claimed).count == 2)
        let next = try bench.run()
        // Both in flight were delivered, and their marks say so.
        #expect(next.attempts == 3 && next.recovered == 0 && next.delivered == 5)
    }

    @Test func `a deferred operation is due after its delay and not before`() throws {
        let bench = try Bench()
        try bench.add(1)
        let summary = try bench.run { _ in .status(503) }
        #expect(summary.deferred == 1)
        let name = try #require(try bench.names(.deferred).first)
        #expect(name.attempts == 1 && name.gate == .retryAt((bench.now + .seconds(60)).roundedUpToMilliseconds))
        bench.now = bench.now + .seconds(59)
        #expect(try bench.run().attempts == 0)
        bench.now = bench.now + .seconds(1) + .milliseconds(1)
        #expect(try bench.run().delivered == 1)
    }

    @Test func `a clock that jumped back does not keep an operation waiting`() throws {
        let bench = try Bench()
        try bench.add(1)
        _ = try bench.run { _ in .status(503) }
        bench.now = bench.now - .seconds(10 * 86_400)
        #expect(try bench.run().delivered == 1)
    }

    @Test func `an operation is in failed after its last attempt, with its history`() throws {
        let bench = try Bench()
        try bench.add(1)
        _ = try bench.run { _ in .status(503) }
        let summary = try bench.run(RunOptions(ignoresBackoff: true)) { _ in .status(502) }
        #expect(summary.failed == 1)
        var kept: [Entry] = []
        try bench.spool.forEachEntry(in: .failed) { kept.append($0) }
        guard case .operation(let stored) = try bench.spool.read(try #require(kept.first)) else {
            Issue.record("the failed operation cannot be read")
            return
        }
        #expect(stored.operation.attempts.map(\.status) == [503, 502])
        #expect(stored.operation.attempts.last?.rule.hasPrefix("attempts used up") == true)
    }

    @Test func `a held destination is left alone for the rest of the run, and another destination goes on`() throws {
        let bench = try Bench()
        try bench.add(5)
        try bench.add(5, type: "other")
        let summary = try bench.run(RunOptions(concurrency: 1)) {
            $0.url.hasPrefix("http://one") ? .status(401) : .status(200)
        }
        #expect(summary.held == 5 && summary.delivered == 5 && summary.failed == 0)
        #expect(try bench.names(.new).count == 5)
        #expect(try bench.names(.new).allSatisfy { $0.attempts == 0 })
        let holds = bench.holds
        #expect(holds == 1)
    }

    @Test func `a retry-after does not count as an attempt`() throws {
        let bench = try Bench()
        try bench.add(1)
        _ = try bench.run { _ in .status(429, [HeaderField(name: "Retry-After", value: "100")]) }
        let name = try #require(try bench.names(.deferred).first)
        #expect(name.attempts == 0)
        guard case .retryAt(let due) = name.gate else {
            Issue.record("no due time")
            return
        }
        #expect(due >= bench.now + .seconds(100))
    }

    @Test func `after a broken stream the next requests leave over HTTP 1.1, in later runs too`() throws {
        let bench = try Bench()
        bench.hasBrokenStream = { !$0.needsHTTP1 }
        var versions: [Bool] = []
        for _ in 0..<2 {
            try bench.add(2)
            _ = try bench.run(RunOptions(concurrency: 1)) { request in
                versions.append(request.needsHTTP1)
                return .status(204)
            }
        }
        #expect(versions == [false, true, true, true])
    }

    @Test func `requests of a dead agent are sent again alone, as the next attempt, and only the culprit is charged`()
        throws
    {
        let bench = try Bench()
        try bench.add(3)
        func attempt(_ request: OutgoingRequest) -> String? {
            request.headers.first { $0.name == "Drainq-Attempt" }?.value
        }
        bench.isSuspect = { attempt($0) == "1" }
        var inFlight: [Int] = []
        let summary = try bench.run(RunOptions(concurrency: 3)) { request in
            let isCulprit = request.body == Array("1".utf8)
            guard attempt(request) == "2" else { return .failure(.agentDied, detail: "") }
            inFlight.append(bench.sink?.inFlight ?? -1)
            return isCulprit ? .failure(.agentDied, detail: "") : .status(204)
        }
        #expect(bench.sink?.requests.map(attempt) == ["1", "1", "1", "2", "2", "2"])
        #expect(inFlight == [0, 0, 0])
        #expect(Set(bench.sink?.requests.map(\.destination) ?? []) == ["http://one"])
        #expect(summary.delivered == 2 && summary.deferred == 1)
        #expect(try bench.names(.deferred).map(\.attempts) == [1])
    }

    @Test func `what an agent had in flight when it died may have arrived, whatever the next answer is`() throws {
        let bench = try Bench()
        try bench.add(2)
        bench.isSuspect = { $0.headers.contains { $0.name == "Drainq-Attempt" && $0.value == "1" } }
        _ = try bench.run(RunOptions(concurrency: 2)) { _ in .status(503) }
        let names = try bench.names(.new) + bench.names(.deferred)
        #expect(names.map(\.unknowns) == [1, 1] && names.allSatisfy { $0.interruptions == 0 })
    }

    @Test func `a delivery that closes the circuit breaker lets the waiting operations go`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.retry = BackoffSchedule(
            delays: .list([.milliseconds(500)]), attempts: 9, jitter: 0)
        try bench.add(5)
        #expect(
            try bench.run(RunOptions(concurrency: 1)) { _ in .failure(.refused, detail: "") }.deferred == 5)
        try bench.add(1)
        bench.pass(.milliseconds(600))
        #expect(try bench.state(of: "http://one").coolDownUntil ?? bench.now > bench.now)
        let summary = try bench.run(RunOptions(concurrency: 1))
        #expect(summary.delivered == 6 && summary.leftDue == 0 && summary.waiting == 0)
    }

    @Test func `an expired operation fails unsent`() throws {
        let bench = try Bench()
        let expiry = bench.now + .seconds(5)
        try bench.add(1) { $0.expiresAt = expiry }
        bench.now = bench.now + .seconds(10)
        let summary = try bench.run()
        #expect(summary.failed == 1 && summary.attempts == 0)
        #expect(bench.sink?.requests.isEmpty ?? true)
    }

    @Test func `agents that cannot be started end the run, and every operation is put back`() throws {
        let bench = try Bench()
        try bench.add(3)
        bench.failure = SinkError("cannot start a delivery agent: no")
        let summary = try bench.run()
        #expect(summary.end == .broken("cannot start a delivery agent: no"))
        #expect(summary.inputOutputErrors == 1)
        #expect(try bench.names(.new).count + bench.names(.deferred).count == 3)
        #expect(try bench.names(.deferred).allSatisfy { $0.attempts == 0 })
    }

    @Test func `until-empty goes on through deferrals and passes`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.retry = BackoffSchedule(delays: .list([.milliseconds(1)]), attempts: 9)
        try bench.add(7)
        bench.tick = .milliseconds(1)
        var answers = 0
        let summary = try bench.run(RunOptions(limit: 2, stay: .untilEmpty)) { _ in
            answers += 1
            return .status(answers % 3 == 0 ? 503 : 204)
        }
        #expect(summary.delivered == 7 && summary.deferred == 0 && summary.end == .done)
        #expect(try bench.names(.deferred).isEmpty)
    }

    @Test func `until-empty does not wait for a hold that only an operator can end`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.ordering = .key
        try bench.add(3) { $0.key = "a" }
        try bench.add(2, type: "other")
        let entry = Entry(state: .new, name: try #require(try bench.names(.new).first))
        _ = try #require(try bench.spool.hold(entry))
        let summary = try bench.run(RunOptions(stay: .untilEmpty)) { _ in .status(401) }
        #expect(summary.end == .done && summary.held == 2 && summary.delivered == 0)
    }

    @Test func `only the given types are attempted`() throws {
        let bench = try Bench()
        try bench.add(2)
        try bench.add(2, type: "other")
        #expect(try bench.run(RunOptions(types: [TypeName("other")!])).delivered == 2)
        #expect(try bench.names(.new).map(\.type) == [.default, .default])
    }

    @Test func `retention keeps delivered copies and prunes them`() throws {
        let bench = try Bench()
        bench.configuration.retention.delivered = .seconds(3600)
        bench.now = Timestamp(microseconds: Int64(Date().timeIntervalSince1970 * 1e6))
        try bench.add(1)
        #expect(try bench.run().delivered == 1)
        #expect(try bench.names(.delivered).count == 1)
        bench.now = bench.now + .seconds(7200)
        _ = try bench.run()
        #expect(try bench.names(.delivered).isEmpty)
    }

    @Test func `delivered copies go once retention is turned off`() throws {
        let bench = try Bench()
        bench.configuration.retention.delivered = .seconds(3600)
        try bench.add(1)
        #expect(try bench.run().delivered == 1 && bench.names(.delivered).count == 1)
        bench.configuration.retention.delivered = .zero
        bench.now = Timestamp(microseconds: Int64(Date().timeIntervalSince1970 * 1e6)) + .seconds(1)
        _ = try bench.run()
        #expect(try bench.names(.delivered).isEmpty)
    }

    @Test func `a clock that is a year ahead for less than a day removes nothing from failed`() throws {
        let bench = try Bench()
        bench.configuration.retention.failed = .seconds(30 * 86_400)
        let now = Timestamp(microseconds: Int64(Date().timeIntervalSince1970 * 1e6))
        bench.now = now
        try bench.add(1)
        #expect(try bench.run { _ in .status(404) }.failed == 1)
        for days in [365, 365, 0, 31] {
            bench.now = now + .seconds(days * 86_400)
            _ = try bench.run()
            #expect(try bench.names(.failed).count == 1)
        }
        bench.now = now + .seconds(32 * 86_400)
        _ = try bench.run()
        #expect(try bench.names(.failed).isEmpty)
    }

    @Test func `a clock that was behind removes nothing from failed early`() throws {
        let bench = try Bench()
        bench.configuration.retention.failed = .seconds(30 * 86_400)
        let behind = Timestamp(microseconds: Int64(Date().timeIntervalSince1970 * 1e6))
        let right = behind + .seconds(40 * 86_400)
        bench.now = right
        _ = try bench.run()
        bench.now = behind
        try bench.add(1)
        #expect(try bench.run { _ in .status(404) }.failed == 1)
        for hours in [25, 26] {
            bench.now = right + .seconds(hours * 3_600)
            _ = try bench.run()
            #expect(try bench.names(.failed).count == 1)
        }
        bench.now = right + .seconds(50 * 3_600)
        _ = try bench.run()
        #expect(try bench.names(.failed).isEmpty)
    }

    @Test func `a due time beyond the schedule counts only while the ledger has a retry-after`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.retry = .quick
        try bench.add(1)
        let now = bench.now
        bench.now = now + .seconds(72_000)
        #expect(try bench.run { _ in .status(500) }.deferred == 1)
        bench.now = now
        #expect(try bench.run().delivered == 1)
        try bench.add(1)
        let asking = AttemptReport.Result.status(429, [HeaderField(name: "Retry-After", value: "7200")])
        #expect(try bench.run { _ in asking }.deferred == 1)
        #expect(try bench.run().attempts == 0)
        bench.now = bench.now + .seconds(7_200 + 301)
        #expect(try bench.run().delivered == 1)
    }

    @Test func `the time limit leaves the rest due`() throws {
        let bench = try Bench()
        try bench.add(3)
        let summary = try bench.run(RunOptions(maxTime: .zero))
        #expect(summary.end == .timeUp && summary.attempts == 0 && summary.leftDue == 3)
        #expect(try bench.names(.new).count == 3)
    }

    @Test func `a paused queue is left alone`() throws {
        let bench = try Bench()
        try bench.add(1)
        try bench.spool.setPaused(true)
        #expect(try bench.run().end == .paused)
        #expect(bench.sink == nil)
    }

    @Test func `an operation added in the last moment of the time to stay is attempted`() throws {
        let bench = try Bench()
        try bench.add(1)
        var requests = 0
        let summary = try bench.run(RunOptions(stay: .during(.seconds(2)))) { _ in
            requests += 1
            if requests == 1 {
                // This pass began within the time, and ends after it.
                bench.pass(.seconds(2))
                _ = try? bench.add(1)
            }
            return .status(204)
        }
        #expect(summary.delivered == 2 && requests == 2)
        #expect(try bench.names(.new).isEmpty)
    }

    @Test func `a run that stays looks for new files once a second`() throws {
        let bench = try Bench()
        #expect(try bench.run(RunOptions(stay: .during(.seconds(10)))).end == .done)
        #expect((9...11).contains(bench.slept.count))
        #expect(bench.slept.allSatisfy { $0 <= .seconds(1) })
    }

    @Test func `the time limit ends a wait`() throws {
        let bench = try Bench()
        try bench.add(1)
        let start = bench.instant
        let options = RunOptions(maxTime: .seconds(30), stay: .untilEmpty)
        let summary = try bench.run(options) { _ in .status(503) }
        #expect(summary.end == .timeUp && summary.attempts == 1)
        #expect((.seconds(30)...(.seconds(31))).contains(bench.instant - start))
    }

    @Test func `a signal ends a run after the attempts in flight`() throws {
        let bench = try Bench()
        try bench.add(10)
        let summary = try bench.run(RunOptions(concurrency: 3)) { _ in
            bench.signals = [15]
            return .status(204)
        }
        #expect(summary.end == .signal(15) && summary.delivered == 3 && summary.leftDue == 7)
        #expect(try bench.names(.new).count == 7)
    }

    @Test func `a second signal cuts off the requests in flight`() throws {
        let bench = try Bench()
        try bench.add(10)
        let summary = try bench.run(RunOptions(concurrency: 3)) { _ in
            bench.signals = [2, 2]
            return .status(204)
        }
        #expect(summary.end == .signal(2) && summary.wasCutOff)
        #expect(summary.delivered == 2 && summary.cutOff == 1)
        #expect(try bench.names(.claimed).isEmpty)
    }
}
