import Testing

@testable import Policy

struct SettlementTests {
    static let created = Timestamp(rfc3339: "2026-11-21T09:00:00Z")!
    static let now = created + .seconds(900)
    static let id = OperationID("a")!

    private func settle(
        _ result: AttemptReport.Result, attempts: Int = 0, records: [AttemptRecord] = [],
        route: Route = Route(retry: .steps), inBatch: Bool = false, keeps: Bool = false, expiresAt: Timestamp? = nil,
        now: Timestamp = SettlementTests.now
    ) -> Settlement {
        let report = SealedReport(result: result, duration: .milliseconds(1500))
        let header = OperationHeader(id: Self.id, createdAt: Self.created, expiresAt: expiresAt)
        var generator = SeededGenerator(seed: 4)
        return Settlement.decide(
            on: report, verdict: Classification.verdict(on: report, route: route, now: now),
            of: Operation(header: header, body: [], attempts: records),
            name: EntryName(createdAt: Self.created, id: Self.id, attempts: attempts), route: route,
            inBatch: inBatch, keepsDelivered: keeps, start: now - .seconds(2), now: now, using: &generator)
    }

    private func answer(_ status: Int, retryAfter: String? = nil, body: String = "") -> AttemptReport.Result {
        let headers = retryAfter.map { [HeaderField(name: "Retry-After", value: $0)] } ?? []
        return .answer(.init(status: status, headers: headers, body: Array(body.utf8)))
    }

    private func record(_ status: Int, retryAfter: Int? = nil, outcome: Outcome = .deferred) -> AttemptRecord {
        AttemptRecord(
            at: Self.created, duration: .zero, outcome: outcome, status: status, rule: "", retryAfter: retryAfter,
            counted: outcome == .deferred && retryAfter == nil)
    }

    @Test func `a delivered operation is removed, or kept if configured`() {
        #expect(settle(answer(204)).disposition == .delivered(keep: false))
        #expect(settle(answer(204), keeps: true).disposition == .delivered(keep: true))
    }

    @Test func `a settlement records the attempt`() {
        let settled = settle(answer(503, body: "{\n\"a\":\u{1B}1}"), attempts: 1)
        #expect(
            settled.record
                == AttemptRecord(
                    at: Self.now - .seconds(2), duration: .milliseconds(1500), outcome: .deferred, status: 503,
                    rule: "status 503: default 500-599 defers", excerpt: "{ \"a\":\\u{1b}1}",
                    accused: .destination, counted: true))
        #expect(settled.isRecorded)
        let failure = settle(.failure(.reset, detail: "Connection reset\nby peer"))
        #expect(failure.record.error == "reset")
        #expect(failure.record.excerpt == "Connection reset by peer")
        #expect(failure.record.rule == "error reset: default defers")
    }

    @Test func `a deferred operation waits for the delay of its schedule`() {
        #expect(
            settle(answer(503)).disposition == .deferred(until: Self.now + .seconds(5), countsAttempt: true))
        #expect(
            settle(.failure(.agentDied, detail: ""), attempts: 2).disposition
                == .deferred(until: Self.now + .seconds(120), countsAttempt: true))
    }

    @Test func `an operation fails after its last attempt, and the rule gives the reason`() {
        let settled = settle(answer(503), attempts: 3)
        #expect(settled.disposition == .failed(countsAttempt: true))
        #expect(settled.record.outcome == .failed)
        #expect(settled.record.rule == "attempts used up (4 of 4); last status 503: default 500-599 defers")
    }

    @Test func `an operation fails at its maximum age, and the rule gives the reason`() {
        let route = Route(retry: BackoffSchedule(delays: .list([.seconds(60)]), maxAge: .seconds(900)))
        let settled = settle(answer(503), attempts: 3, route: route)
        #expect(settled.disposition == .failed(countsAttempt: true))
        #expect(settled.record.rule == "age used up (15m); last status 503: default 500-599 defers")
    }

    @Test func `a permanent failure fails the operation at once`() {
        let settled = settle(answer(422))
        #expect(settled.disposition == .failed(countsAttempt: true))
        #expect(settled.rule.description == "status 422: default 400-499 fails")
    }

    @Test func `a held operation is put back untouched`() {
        let settled = settle(answer(401))
        #expect(settled.disposition == .putBack)
        #expect(!settled.isRecorded)
        #expect(settled.record.outcome == .held)
    }

    private func cutOff(_ count: Int) -> [AttemptRecord] {
        Array(
            repeating: AttemptRecord(
                at: Self.created, duration: .zero, outcome: .deferred, error: "cancelled", rule: ""),
            count: count)
    }

    @Test func `a cancelled attempt does not count, is repeated at once, and then follows the schedule`() {
        let route = Route(retry: BackoffSchedule(delays: .list([.seconds(10), .seconds(20)]), attempts: 3))
        for (before, delay) in [(cutOff(0), 0), (cutOff(1), 10), (cutOff(2), 20), (cutOff(9), 20)] {
            let settled = settle(.failure(.cancelled, detail: ""), records: before, route: route)
            #expect(settled.disposition == .deferred(until: Self.now + .seconds(delay), countsAttempt: false))
            #expect(!settled.record.counted)
        }
        let interrupted = cutOff(3) + [record(503)]
        let settled = settle(.failure(.cancelled, detail: ""), attempts: 1, records: interrupted, route: route)
        #expect(settled.disposition == .deferred(until: Self.now, countsAttempt: false))
    }

    @Test(arguments: [0, 1, 5])
    func `the maximum age fails an operation with cancelled attempts`(before: Int) {
        let route = Route(retry: BackoffSchedule(delays: .list([.seconds(10)]), maxAge: .seconds(900)))
        let settled = settle(.failure(.cancelled, detail: ""), records: cutOff(before), route: route)
        #expect(settled.disposition == .failed(countsAttempt: false))
        #expect(settled.rule.description.hasPrefix("age used up (15m)"))
    }

    @Test func `a rate-limit schedule without maxAge is bounded by the maxAge of retry`() {
        var route = Route(
            retry: BackoffSchedule(delays: .list([.seconds(1)]), maxAge: .seconds(800)), retryRateLimited: .rateLimit)
        for result in [answer(429), answer(429, retryAfter: "60")] {
            #expect(settle(result, route: route).rule.description.hasPrefix("age used up (13m20s)"))
        }
        route.retryRateLimited?.maxAge = .seconds(1000)
        guard case .deferred = settle(answer(429), route: route).disposition else {
            Issue.record("its own age is not up yet")
            return
        }
    }

    @Test(arguments: [429, 503])
    func `a retry-after does not count an attempt, and the wait is at least as long`(status: Int) throws {
        // Far behind the schedule's end: a retry-after does not count an attempt.
        let settled = settle(answer(status, retryAfter: "100"), attempts: 50)
        guard case .deferred(let until, countsAttempt: false) = settled.disposition else {
            Issue.record("\(settled.disposition)")
            return
        }
        #expect(until >= Self.now + .seconds(100) && until <= Self.now + .milliseconds(120_001))
        #expect(settled.record.retryAfter == 100)
        #expect(!settled.record.counted)
    }

    @Test func `a retry-after of any length stays below the longest delay`() {
        guard case .deferred(let until, _) = settle(answer(429, retryAfter: "999999")).disposition else {
            Issue.record("not deferred")
            return
        }
        #expect(until - Self.now <= Route(retry: .steps).longestDelay(asked: RetryAfter.longest))
    }

    @Test func `the maximum age bounds a retry-after`() {
        let route = Route(retry: BackoffSchedule(delays: .list([.seconds(60)]), maxAge: .seconds(1000)))
        #expect(
            settle(answer(429, retryAfter: "500"), route: route).disposition
                == .deferred(until: Self.created + .seconds(1000), countsAttempt: false))
        #expect(
            settle(answer(429, retryAfter: "500"), route: route, now: Self.created + .seconds(1000)).disposition
                == .failed(countsAttempt: false))
    }

    @Test func `a retry-after of zero is ignored`() {
        #expect(
            settle(answer(503, retryAfter: "0")).disposition
                == .deferred(until: Self.now + .seconds(5), countsAttempt: true))
    }

    @Test func `a retry-after with 502 only extends the schedule's delay`() {
        guard case .deferred(let until, countsAttempt: true) = settle(answer(502, retryAfter: "100")).disposition else {
            Issue.record("not deferred")
            return
        }
        #expect(until >= Self.now + .seconds(100))
        #expect(
            settle(answer(502, retryAfter: "1")).disposition
                == .deferred(until: Self.now + .seconds(5), countsAttempt: true))
    }

    @Test func `429 follows its own schedule and counts only answers with 429`() {
        let route = Route(retry: .quick, retryRateLimited: .rateLimit)
        func until(_ attempts: Int, _ records: [AttemptRecord]) -> Disposition {
            settle(answer(429), attempts: attempts, records: records, route: route).disposition
        }
        let first = Disposition.deferred(until: Self.now + .seconds(5), countsAttempt: true)
        let second = Disposition.deferred(until: Self.now + .seconds(15), countsAttempt: true)
        #expect(until(0, []) == first)
        #expect(until(3, [record(503), record(503), record(503)]) == first)
        #expect(until(1, [record(429), record(429, retryAfter: 5)]) == second)
        #expect(until(2, [record(429), record(429)]) == .failed(countsAttempt: true))
        // Records before an operator's retry do not count.
        #expect(until(0, [record(429), record(429)]) == first)
        #expect(until(1, [record(429), record(429)]) == second)
        #expect(
            settle(answer(429), attempts: 1, route: Route(retry: .steps)).disposition
                == .deferred(until: Self.now + .seconds(30), countsAttempt: true))
    }

    @Test func `a callable function's RESOURCE_EXHAUSTED follows the schedule for 429, whatever its status`() {
        let route = Route(protocol: .callable, retry: .quick, retryRateLimited: .rateLimit)
        let body = #"{"error":{"status":"RESOURCE_EXHAUSTED"}}"#
        let first = settle(answer(200, body: body), attempts: 3, route: route)
        #expect(first.disposition == .deferred(until: Self.now + .seconds(5), countsAttempt: true))
        #expect(first.record.error == "RESOURCE_EXHAUSTED")
        #expect(first.record.counted)
        let second = settle(answer(200, body: body), attempts: 4, records: [first.record], route: route)
        #expect(second.disposition == .deferred(until: Self.now + .seconds(15), countsAttempt: true))
        let asked = settle(answer(200, retryAfter: "100", body: body), attempts: 50, route: route)
        guard case .deferred(_, countsAttempt: false) = asked.disposition else {
            Issue.record("\(asked.disposition)")
            return
        }
        #expect(!asked.record.counted)
    }

    @Test func `a failure of a proxy does not count an attempt, and only the maximum age ends the operation`() {
        let settled = settle(.failure(.proxy, detail: ""), attempts: 50)
        #expect(settled.disposition == .deferred(until: Self.now + .seconds(120), countsAttempt: false))
        #expect(!settled.record.counted)
        let route = Route(
            retry: BackoffSchedule(delays: .list([.seconds(60)]), maxAge: .seconds(900)),
            classify: [AnswerRule.classify(.error(.proxy), outcome: .deferred)])
        #expect(
            settle(.failure(.proxy, detail: ""), route: route).disposition == .failed(countsAttempt: false))
    }

    @Test func `an operation in a batch does not fail at its last attempt, and is sent alone next`() {
        let route = Route(retry: BackoffSchedule(delays: .list([.seconds(1)]), attempts: 2))
        let old = Route(retry: BackoffSchedule(delays: .list([.seconds(1)]), maxAge: .seconds(60)))
        for (route, attempts, records) in [(route, 1, [record(500)]), (old, 0, []), (old, 5, [record(500)])] {
            let shared = settle(answer(500), attempts: attempts, records: records, route: route, inBatch: true)
            #expect(shared.disposition == .deferred(until: Self.now, countsAttempt: true))
            let operation = Operation(
                header: OperationHeader(id: Self.id, createdAt: Self.created), body: [],
                attempts: records + [shared.record])
            let name = EntryName(createdAt: Self.created, id: Self.id, attempts: attempts + 1)
            #expect(Settlement.isSentAlone(operation, name: name, route: route, now: Self.now))
            let alone = settle(answer(500), attempts: attempts, records: records, route: route)
            #expect(alone.disposition == .failed(countsAttempt: true))
        }
    }

    @Test func `an operation of a refused batch does not fail, and is sent alone until it is edited`() {
        let shared = settle(answer(422), inBatch: true)
        #expect(shared.disposition == .deferred(until: Self.now, countsAttempt: false))
        #expect(shared.record.accused == .batch && shared.record.outcome == .deferred && !shared.record.counted)
        var operation = Operation(
            header: OperationHeader(id: Self.id, createdAt: Self.created), body: [],
            attempts: [shared.record, record(500)])
        func isSentAlone(interruptions: Int = 0) -> Bool {
            let name = EntryName(createdAt: Self.created, id: Self.id, attempts: 1, interruptions: interruptions)
            return Settlement.isSentAlone(
                operation, name: name, route: Route(retry: .steps), now: Self.created + .seconds(9))
        }
        #expect(isSentAlone())
        operation.header.edited = OperationHeader.Edit(attempts: 1, interruptions: 0)
        #expect(!isSentAlone() && isSentAlone(interruptions: 1))
    }

    @Test func `an attempt is the last by either schedule, and a first attempt never is`() {
        let route = Route(
            retry: BackoffSchedule(delays: .list([.seconds(1)]), attempts: 3),
            retryRateLimited: BackoffSchedule(delays: .list([.seconds(1)]), attempts: 2))
        func isLast(_ records: [AttemptRecord], attempts: Int? = nil) -> Bool {
            let attempts = attempts ?? records.count(where: \.counted)
            return Settlement.isSentAlone(
                Operation(
                    header: OperationHeader(id: Self.id, createdAt: Self.created), body: [], attempts: records),
                name: EntryName(createdAt: Self.created, id: Self.id, attempts: attempts), route: route, now: Self.now)
        }
        // A power cut has taken the records.
        #expect(isLast([], attempts: 2) && !isLast([], attempts: 1))
        #expect(!isLast([]) && !isLast([record(500)]) && isLast([record(500), record(500)]))
        #expect(isLast([record(429)]) && !isLast([record(429, retryAfter: 5)]))
    }

    @Test func `an element's status and the retry-after together decide whether the attempt counts`() {
        let answer = AttemptReport.Answer(
            status: 200, headers: [HeaderField(name: "Retry-After", value: "9")],
            body: Array(#"[{"s":503},{"s":500},{"s":429},{"s":400}]"#.utf8))
        let report = SealedReport(result: .answer(answer), duration: .zero)
        let batch = Batch(
            max: 4,
            results: Batch.Results(pointer: JSONPointer(tokens: []), status: JSONPointer(tokens: ["s"])))
        let route = Route(retry: .steps, batch: batch)
        let verdicts =
            batch.verdicts(
                on: report, members: (0..<4).compactMap { OperationID("op-\($0)") }, route: route, now: Self.now) ?? []
        #expect(verdicts.map(\.countsAttempt) == [false, true, false, true])
        var generator = SeededGenerator(seed: 1)
        for verdict in verdicts {
            let settled = Settlement.decide(
                on: report, verdict: verdict,
                of: Operation(header: OperationHeader(id: Self.id, createdAt: Self.created), body: []),
                name: EntryName(createdAt: Self.created, id: Self.id), route: route, inBatch: false,
                keepsDelivered: false,
                start: Self.now, now: Self.now, using: &generator)
            #expect(settled.record.counted == verdict.countsAttempt)
            switch settled.disposition {
            case .deferred(_, let counts), .failed(let counts): #expect(counts == verdict.countsAttempt)
            default: Issue.record("\(settled.disposition)")
            }
        }
    }

    @Test func `the record of a batch's operation has the status of its element`() {
        let report = SealedReport(result: .answer(.init(status: 207)), duration: .zero)
        let rule = Classification.verdict(onStatus: 422, route: Route()).rule
        var verdict = Verdict(outcome: .failed, rule: .member(rule))
        verdict.status = 422
        var generator = SeededGenerator(seed: 1)
        let settled = Settlement.decide(
            on: report, verdict: verdict,
            of: Operation(header: OperationHeader(id: Self.id, createdAt: Self.created), body: []),
            name: EntryName(createdAt: Self.created, id: Self.id), route: Route(), inBatch: false,
            keepsDelivered: false,
            start: Self.now, now: Self.now, using: &generator)
        #expect(settled.record.status == 422)
        #expect(settled.record.rule == "batch results: status 422: default 400-499 fails")
    }

    @Test func `an operation is due at its expiry if earlier than the delay`() {
        let soon = Self.now + .seconds(2)
        #expect(
            settle(answer(503), expiresAt: soon).disposition == .deferred(until: soon, countsAttempt: true))
    }

    @Test func `an expired operation fails unsent`() throws {
        var operation = Operation(header: OperationHeader(id: Self.id, createdAt: Self.created), body: [])
        #expect(Settlement.decide(onExpiryOf: operation, route: Route(), now: Self.now) == nil)
        operation.header.expiresAt = Self.now + .microseconds(1)
        #expect(Settlement.decide(onExpiryOf: operation, route: Route(), now: Self.now) == nil)
        operation.header.expiresAt = Self.now
        let settled = try #require(Settlement.decide(onExpiryOf: operation, route: Route(), now: Self.now))
        #expect(settled.disposition == .failed(countsAttempt: false))
        #expect(settled.record.rule == "expired at 2026-11-21T09:15:00Z")
        let route = Route(expiresAfter: .seconds(60))
        #expect(Settlement.expiry(of: operation, route: route) == Self.created + .seconds(60))
    }

    @Test func `an operation without a valid request fails or is put back, by the owner of the defect`() {
        let own = Settlement.decide(on: .missingValue(placeholder: "key"), now: Self.now)
        #expect(own.disposition == .failed(countsAttempt: false))
        #expect(own.record.ruleCode == .request && !own.record.counted)
        #expect(own.record.rule.hasPrefix("the operation has no value for '{key}': add it with --key"))
        let route = Settlement.decide(on: .noURL(.default), now: Self.now)
        #expect(route.disposition == .putBack)
        #expect(Rule.interrupted(times: 5).description == "interrupted 5 times without an outcome")
    }
}
