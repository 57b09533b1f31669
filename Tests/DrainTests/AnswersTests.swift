import Delivery
import Policy
import Spool
import Testing

@testable import Drain

/// The combined effect of answers, without a sink.
struct AnswersTests {
    private func parts(_ count: Int, of type: String = "default") throws -> Parts {
        let bench = try Bench()
        try bench.add(count, type: type)
        return try Parts(bench)
    }

    @Test func `a permanent answer is settled once no sample is left to send`() throws {
        let parts = try parts(1)
        for attempt in try parts.attempts() { parts.take(404, of: attempt) }
        #expect(parts.tally.summary.failed == 0)
        #expect(parts.concludeQuiet())
        #expect(parts.tally.summary.failed == 1 && !parts.concludeQuiet())
    }

    @Test func `as many permanent answers as the storm guard's threshold start the sampling`() throws {
        let parts = try parts(8)
        let attempts = try parts.attempts()
        let destination = attempts[0].destination
        let threshold = destination.settings.stormGuard
        for attempt in attempts.prefix(threshold) { parts.take(404, of: attempt) }
        #expect(destination.control.isSampling && parts.tally.summary.failed == 0)
        for attempt in attempts.dropFirst(threshold).prefix(1) { parts.take(204, of: attempt) }
        #expect(!destination.control.isSampling && parts.tally.summary.failed == threshold)
    }

    @Test func `a single refusal is parked, and a delivery is its witness`() throws {
        let parts = try parts(2)
        let attempts = try parts.attempts()
        parts.take(401, of: attempts[0])
        #expect(parts.concludeQuiet())
        #expect(
            attempts[0].destination.state.parking.entries.count == 1
                && parts.dispatch.settling.operations.deferred.count == 1)
        parts.take(204, of: attempts[1])
        #expect(parts.tally.summary.delivered == 1 && parts.bench.holds == 0)
    }

    @Test func `an attempt that may have killed its agent is sent again, uncharged`() throws {
        let parts = try parts(1)
        let attempt = try #require(try parts.attempts().first)
        let report = AttemptReport(result: .failure(.other, detail: ""), duration: .zero, isSuspect: true)
        parts.take(report, of: attempt)
        guard case .claimed(let again) = parts.dispatch.queue.nextUrgent(at: .zero) else {
            Issue.record("it is not sent again")
            return
        }
        #expect(again.unchargedCount == 1 && parts.bench.events.isEmpty)
    }

    /// Removes and returns the urgent attempts.
    private func urgent(_ parts: Parts) -> [Attempt] {
        var attempts: [Attempt] = []
        while case .claimed(let attempt) = parts.dispatch.queue.nextUrgent(at: .zero) { attempts.append(attempt) }
        return attempts
    }

    @Test func `the halves of a refused batch are sent under the next attempt number`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.batch = Batch(max: 4)
        try bench.add(4)
        let parts = try Parts(bench)
        parts.take(422, of: try #require(try parts.attempts().first))
        let halves = urgent(parts)
        #expect(halves.map(\.members.count) == [2, 2] && halves.map(\.unchargedCount) == [1, 1])
        parts.take(422, of: halves[0])
        #expect(urgent(parts).map(\.unchargedCount) == [2, 2] && parts.bench.events.isEmpty)
    }

    @Test func `a batch whose request cannot be made is split, and keeps its attempt number`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.batch = Batch(max: 2)
        try bench.add(2)
        let parts = try Parts(bench)
        let attempt = try #require(try parts.attempts().first)
        parts.dispatch.refuse(attempt, because: .badIdempotencyKey)
        #expect(urgent(parts).map(\.unchargedCount) == [0, 0])
    }

    @Test func `a failed member of a batch is sent alone under the next attempt number`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.batch = Batch(
            max: 2, results: Batch.Results(pointer: JSONPointer("/r")!, status: JSONPointer("/s")!))
        try bench.add(2)
        let parts = try Parts(bench)
        let answer = AttemptReport.Answer(status: 200, body: Array(#"{"r":[{"s":200},{"s":422}]}"#.utf8))
        parts.take(
            AttemptReport(result: .answer(answer), duration: .zero), of: try #require(try parts.attempts().first))
        #expect(urgent(parts).map(\.unchargedCount) == [1] && parts.tally.summary.delivered == 1)
    }

    @Test func `a refusal asks for fresh secrets once`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.headers = []
        var refreshed = 0
        bench.credentials = Credentials(
            values: { names, _ in SecretValues(values: Dictionary(uniqueKeysWithValues: names.map { ($0, "x") })) },
            refresh: { _ in
                refreshed += 1
                return true
            }, signed: { _, _ in [] })
        try bench.add(1)
        let parts = try Parts(bench)
        let attempt = try #require(try parts.attempts().first)
        attempt.secrets = SecretValues(values: ["token": "x"])
        parts.take(401, of: attempt)
        guard case .claimed(let again) = parts.dispatch.queue.nextUrgent(at: .zero) else {
            Issue.record("it is not sent again")
            return
        }
        #expect(again.hasFreshSecrets && refreshed == 1)
        parts.take(401, of: again)
        #expect(refreshed == 1 && again.destination.refusedFreshSecrets != nil)
    }
}
