import Testing

@testable import Policy

struct AnswerRuleTests {
    private let now = Timestamp(rfc3339: "2026-11-21T09:15:00Z")!

    private func json(_ pointer: String, _ test: JSONCondition.Test) -> AnswerContent {
        AnswerContent(json: [JSONCondition(pointer: JSONPointer(pointer)!, test: test)])
    }

    private func rules(_ rules: AnswerRule...) -> [AnswerRule] {
        rules.enumerated().map { index, rule in
            var rule = rule
            rule.origin = .answers(index)
            return rule
        }
    }

    private func rule(
        _ statuses: ClosedRange<Int>?, _ content: AnswerContent, _ outcome: Outcome,
        until: AnswerLimit? = nil
    ) -> AnswerRule {
        AnswerRule(.answers(0), .statuses(statuses.map { [$0] }), content: content, outcome, until: until)
    }

    private func rule(_ statuses: ClosedRange<Int>?, _ outcome: Outcome, until: AnswerLimit? = nil) -> AnswerRule {
        rule(statuses, AnswerContent(), outcome, until: until)
    }

    private func report(_ status: Int, _ headers: KeyValuePairs<String, String> = [:], _ body: String = "")
        -> SealedReport
    {
        SealedReport(
            result: .answer(
                .init(
                    status: status, headers: headers.map { HeaderField(name: $0.key, value: $0.value) },
                    body: Array(body.utf8))), duration: .zero)
    }

    private func verdict(_ report: SealedReport, _ route: Route) -> Verdict {
        Classification.verdict(on: report, route: route, now: now)
    }

    @Test func `a rule with after matches only if an earlier request may have arrived`() {
        let route = Route(
            answers: rules(
                rule(409...409, AnswerContent(isAfterUnknown: true), .delivered), rule(409...409, .failed)))
        let answer = report(409)
        #expect(verdict(answer, route).outcome == .failed)
        let later = Classification.verdict(on: answer, route: route, mayHaveArrived: true, now: now)
        #expect(later.outcome == .delivered)
        #expect(
            later.rule.description == "answers[0]: status 409, an earlier request may have arrived: deliver")
        // Without an answer's content only the second rule is certain.
        #expect(Classification.verdict(onStatus: 409, route: route).outcome == .failed)
    }

    @Test func `a rule with after judges each operation of a batch by its own requests`() throws {
        let results = Batch.Results(pointer: JSONPointer("/items")!, status: JSONPointer("/status")!)
        let route = Route {
            $0.batch = Batch(max: 3, results: results)
            $0.answers = rules(
                rule(409...409, AnswerContent(isAfterUnknown: true), .delivered), rule(409...409, .failed))
        }
        let answer = report(200, [:], #"{"items":[{"status":409},{"status":409},{"status":200}]}"#)
        let ids = ["a", "b", "c"].map { OperationID($0)! }
        let verdicts = route.batch?.verdicts(on: answer, members: ids, repeated: [ids[1]], route: route, now: now)
        #expect(verdicts?.map(\.outcome) == [.failed, .delivered, .delivered])
    }

    @Test func `a rule with after does not keep a later rule for the same answers from deciding`() {
        let after = rule(409...409, AnswerContent(isAfterUnknown: true), .delivered)
        let every = rule(409...409, .failed)
        #expect(every.ruleBefore(in: [after]) == nil)
        #expect(after.ruleBefore(in: [every]) == every)
        #expect(after.ruleBefore(in: [after]) == after)
    }

    @Test(arguments: [
        (nil as Int?, "timeout" as String?, 0, true), (nil, "reset", 0, true), (nil, "agent-died", 0, true),
        (nil, "cancelled", 0, true),
        (502, nil, 0, true), (504, nil, 0, true), (503, nil, 1, true), (503, nil, 0, false), (429, nil, 0, false),
        (nil, "refused", 0, false), (nil, "dns", 0, false), (500, nil, 0, false), (409, nil, 0, false),
    ])
    func `an earlier request may have arrived if its answer was lost or its run died`(
        status: Int?, error: String?, interruptions: Int, mayHaveArrived: Bool
    ) {
        let record = AttemptRecord(
            at: now, duration: .zero, outcome: .deferred, status: status, error: error, rule: "r",
            interruptions: interruptions)
        let header = OperationHeader(id: OperationID("a")!, createdAt: now)
        let name = EntryName(createdAt: now, id: header.id)
        let answered = AttemptRecord(at: now, duration: .zero, outcome: .deferred, status: 429, rule: "r")
        let operation = Operation(header: header, body: [], attempts: [record, answered])
        #expect(operation.mayHaveArrived(name) == mayHaveArrived)
        let interrupted = EntryName(createdAt: now, id: header.id, interruptions: 1)
        #expect(operation.mayHaveArrived(interrupted))
        #expect(!Operation(header: header, body: []).mayHaveArrived(name))
        // What was sent before an edit was another request.
        var edited = operation
        edited.header.edited = OperationHeader.Edit(attempts: 2, interruptions: 1)
        #expect(!edited.mayHaveArrived(interrupted))
        #expect(edited.mayHaveArrived(EntryName(createdAt: now, id: header.id, interruptions: 2)))
        edited.attempts.append(AttemptRecord(at: now, duration: .zero, outcome: .deferred, rule: "r", interruptions: 1))
        #expect(!edited.mayHaveArrived(name) && edited.mayHaveArrived(interrupted))
        edited.attempts.append(record)
        #expect(edited.mayHaveArrived(name) == mayHaveArrived)
    }

    @Test func `the first rule that matches decides`() {
        let duplicate = json("/code", .equals(.string("23505")))
        let route = Route(
            answers: rules(
                rule(409...409, duplicate, .delivered), rule(409...409, .held), rule(400...499, .deferred)))
        let table: [(Int, String, String)] = [
            (409, #"{"code":"23505"}"#, #"answers[0]: status 409, /code equals "23505": deliver"#),
            (409, #"{"code":"23503"}"#, "answers[1]: status 409: hold"),
            (409, "<html>", "answers[1]: status 409: hold"),
            (404, #"{"code":"23505"}"#, "answers[2]: status 400-499: defer"),
            (503, #"{"code":"23505"}"#, "status 503: default 500-599 defers"),
        ]
        for (status, body, rule) in table {
            #expect(verdict(report(status, [:], body), route).rule.description == rule)
        }
    }

    @Test(
        arguments: [
            (.equals("0"), ["X-Remaining": "0"], true), (.equals("0"), ["x-remaining": " 0 "], true),
            (.equals("0"), ["x-remaining": "00"], false), (.equals("0"), [:], false),
            (.equals("b"), ["x-remaining": "a", "X-REMAINING": "b"], true),
            (.equals("\u{e9}"), ["x-remaining": "e\u{301}"], false),
            (.exists(true), ["x-remaining": ""], true), (.exists(true), [:], false), (.exists(false), [:], true),
            (.exists(false), ["x-remaining": "1"], false),
        ] as [(AnswerContent.Header.Test, KeyValuePairs<String, String>, Bool)])
    func `a header condition tests for a value, presence or absence`(
        test: AnswerContent.Header.Test, headers: KeyValuePairs<String, String>, matches: Bool
    ) {
        let content = AnswerContent(headers: [.init(name: "x-remaining", test: test)])
        let route = Route(answers: [rule(nil, content, .held)])
        #expect((verdict(report(200, headers), route).outcome == .held) == matches)
    }

    @Test(
        arguments: [
            (.contains("Throttling"), #"{"v":"com.amazon#ThrottlingException"}"#, true),
            (.contains("Throttling"), #"{"v":"throttling"}"#, false), (.contains("1"), #"{"v":1}"#, false),
            (.contains("1"), "{}", false), (.unset, #"{"v":null}"#, true), (.unset, "{}", true),
            (.unset, #"{"v":false}"#, true), (.unset, #"{"v":0}"#, false), (.exists(true), #"{"v":null}"#, true),
        ] as [(JSONCondition.Test, String, Bool)])
    func `a JSON condition tests the body`(test: JSONCondition.Test, body: String, matches: Bool) {
        let route = Route(answers: [rule(nil, json("/v", test), .held)])
        #expect((verdict(report(200, [:], body), route).outcome == .held) == matches)
    }

    @Test func `a text condition searches a body of any type`() {
        let route = Route(answers: [rule(500...599, AnswerContent(text: "too many é"), .held)])
        #expect(verdict(report(500, [:], "<p>error: tootoo many é!"), route).outcome == .held)
        #expect(verdict(report(500, [:], "too many e"), route).outcome == .deferred)
        #expect(verdict(report(400, [:], "too many é"), route).outcome == .failed)
        #expect(
            verdict(report(500, [:], "too many é"), route).rule.description
                == "answers[0]: status 500-599, the body has 'too many é' in it: hold")
    }

    @Test func `an answer longer than answerLimit matches no body rule, and the description says so`() {
        for content in [json("/a", .exists(true)), AnswerContent(text: "a")] {
            var route = Route(answers: [rule(400...400, content, .deferred)], answerLimit: 6)
            #expect(
                verdict(report(400, [:], #"{"a":1,"#), route).rule.description
                    == "status 400: default 400-499 fails; the answer is longer than answerLimit, or cannot be read "
                    + "whole: no rule looks into its body"
            )
            #expect(
                verdict(report(404, [:], #"{"a":1,"#), route).rule.description
                    == "status 404: default 400-499 fails")
            route.answerLimit = 100
            #expect(verdict(report(400, [:], #"{"a":1}"#), route).outcome == .deferred)
        }
    }

    @Test func `a rule may match network errors`() {
        let route = Route(answers: [
            AnswerRule(.answers(0), .errors([.timeout, .reset]), .failed),
            AnswerRule(.answers(1), .statuses(nil), .held),
        ])
        #expect(Classification.verdict(on: .reset, route: route).outcome == .failed)
        #expect(
            Classification.verdict(on: .reset, route: route).rule.description
                == "answers[0]: error timeout or reset: fail")
        #expect(Classification.verdict(on: .refused, route: route).outcome == .deferred)
        let all = Route(answers: [AnswerRule(.answers(0), .errors(NetworkError.allCases), .failed)])
        #expect(Classification.verdict(on: .cancelled, route: all).outcome == .deferred)
    }

    @Test func `an answer rule precedes classify, accept and a callable function's canonical status`() {
        let route = Route(
            protocol: .callable, answers: [rule(nil, json("/error/message", .contains("quota")), .deferred)],
            accept: .accept(json: [JSONCondition(pointer: JSONPointer("/result/ok")!, test: .exists(true))]),
            classify: [
                .classify(.canonical(.internal), outcome: .failed), .classify(.statuses(500...500), outcome: .held),
            ])
        let quota = verdict(report(500, [:], #"{"error":{"status":"INTERNAL","message":"no quota"}}"#), route)
        #expect(quota.outcome == .deferred && quota.canonical == .internal)
        #expect(verdict(report(500, [:], #"{"error":{"status":"INTERNAL"}}"#), route).outcome == .failed)
        #expect(verdict(report(500, [:], #"{"error":{"status":"ABORTED"}}"#), route).outcome == .held)
        #expect(verdict(report(500), route).outcome == .held)
        #expect(verdict(report(200, [:], #"{"result":{}}"#), route).rule.description.hasPrefix("accept: "))
        let delivering = Route(answers: [rule(200...200, .delivered)], accept: .accept(contentType: "a/b"))
        #expect(verdict(report(200), delivering).outcome == .delivered)
    }

    @Test func `a rule for 401 does not prevent a fresh lookup of secrets`() {
        for outcome in [Outcome.deferred, .held, .failed] {
            let route = Route(answers: [rule(401...401, json("/code", .contains("PGRST")), outcome)])
            #expect(verdict(report(401, [:], #"{"code":"PGRST301"}"#), route).mayNeedFreshSecrets)
        }
    }

    @Test func `a rule's time defers as Retry-After does and counts no attempt`() {
        let route = Route(
            answers: rules(
                rule(
                    403...403, AnswerContent(headers: [.init(name: "x-remaining", test: .equals("0"))]), .deferred,
                    until: .time(.header("X-Reset"))),
                rule(429...429, .deferred, until: .time(.pointer(JSONPointer("/retry_after")!)))))
        let limited = verdict(report(403, ["x-remaining": "0", "x-reset": "1795252530"]), route)
        #expect(limited.retryAfter == .seconds(30) && limited.isOnlyAskedToWait && !limited.countsAttempt)
        #expect(
            limited.rule.description
                == "answers[0]: status 403, header x-remaining is '0': defer until X-Reset")
        let fraction = verdict(report(429, ["Retry-After": "9"], #"{"retry_after":0.35}"#), route)
        #expect(fraction.retryAfter == .milliseconds(350))
        // Without a time at its pointer, the rule uses Retry-After.
        #expect(verdict(report(429, ["Retry-After": "9"], "{}"), route).retryAfter == .seconds(9))
        let none = verdict(report(403, ["x-remaining": "0"]), route)
        #expect(none.retryAfter == nil && none.countsAttempt && !none.isRateLimited)
        let past = verdict(report(403, ["x-remaining": "0", "x-reset": "1795252490"]), route)
        #expect(past.retryAfter == .zero && past.countsAttempt)
        let cap = Classification.verdict(
            on: report(403, ["x-remaining": "0", "x-reset": "1797259999"]), route: route, now: now)
        #expect(cap.retryAfter == RetryAfter.longest)
        #expect(
            DestinationEvent.events(
                of: report(403), limited, route: route, blamed: nil, began: now, now: now)
                == [.answered, .retryAfter(until: now + .seconds(30))])
    }

    @Test func `an attempt record says whether the attempt counts`() {
        let route = Route(answers: [rule(403...403, .deferred, until: .time(.header("x-reset")))])
        func record(_ headers: KeyValuePairs<String, String>) -> AttemptRecord {
            let report = report(403, headers)
            let id = OperationID("a")!
            var generator = SeededGenerator(seed: 1)
            return Settlement.decide(
                on: report, verdict: verdict(report, route),
                of: Operation(header: OperationHeader(id: id, createdAt: now), body: []),
                name: EntryName(createdAt: now, id: id), route: route, inBatch: false, keepsDelivered: false,
                start: now, now: now, using: &generator
            ).record
        }
        #expect(!record(["x-reset": "5"]).counted && record([:]).counted)
    }

    @Test func `a 503 that matches a body rule proves the server reachable`() {
        let route = Route(answers: [rule(503...503, AnswerContent(text: "maintenance"), .deferred)])
        func events(_ body: String) -> [DestinationEvent] {
            let report = report(503, [:], body)
            return DestinationEvent.events(
                of: report, verdict(report, route), route: route, blamed: nil, began: now, now: now
            )
        }
        #expect(events("maintenance") == [.answered])
        #expect(events("no healthy upstream") == [.unreachable("503")])
    }

    // MARK: - Batches

    @Test func `rules match a batch's whole answer first, then each element with its status`() {
        let results = Batch.Results(
            pointer: JSONPointer("/items")!, status: JSONPointer("/status"), error: JSONPointer("/error"))
        let batch = Batch(max: 10, results: results)
        let route = Route(
            answers: rules(
                rule(nil, json("/took", .equals(.string("all"))), .held),
                rule(409...409, json("/error/type", .contains("conflict")), .delivered),
                rule(
                    429...429, json("/error/wait", .exists(true)), .deferred,
                    until: .time(.pointer(JSONPointer("/error/wait")!))),
                rule(nil, json("/error", .equals(.string("poison"))), .failed)),
            classify: [.classify(.statuses(404...404), outcome: .delivered)], batch: batch)
        let body = """
            {"items":[{"status":201},{"status":409,"error":{"type":"version_conflict"}},{"status":409},
             {"status":429,"error":{"wait":7}},{"status":200,"error":"poison"},{"error":"x"},{},{"status":404,"error":1}]}
            """
        let verdicts = batch.verdicts(
            on: report(200, [:], body), members: (0..<8).compactMap { OperationID("op-\($0)") }, route: route, now: now)
        #expect(
            verdicts?.map { "\($0.status ?? 0) \($0.rule)" } == [
                "201 batch results: status 201: default 200-299 delivers",
                "409 batch results: answers[1]: status 409, /error/type contains \"conflict\": deliver",
                "409 batch results: status 409: default 409 defers",
                "429 batch results: answers[2]: status 429, /error/wait exists: defer until /error/wait",
                "200 batch results: answers[3]: any status, /error equals \"poison\": fail",
                "200 batch results: error \"x\": fails", "200 batch results: no status at '/status': defers",
                "404 batch results: classify \"404\": deliver",
            ])
        #expect(verdicts?[3].retryAfter == .seconds(7) && verdicts?[3].countsAttempt == false)
        #expect(
            batch.verdicts(
                on: report(200, [:], #"{"took":"all"}"#), members: (0..<8).compactMap { OperationID("op-\($0)") },
                route: route, now: now) == nil)
    }

    // MARK: - Rules that never decide

    @Test func `a rule shadowed by earlier rules is found`() {
        let code = json("/code", .equals(.string("1")))
        let both = AnswerContent(
            headers: [.init(name: "X-A", test: .equals("1"))], json: code.json, text: "a longer text")
        let table: [([AnswerRule], AnswerRule, Int?)] = [
            ([rule(nil, .held)], rule(404...404, .failed), 0),
            ([rule(nil, .held)], rule(nil, code, .failed), 0),
            ([rule(404...404, .held)], rule(nil, code, .failed), nil),
            ([rule(400...450, .held), rule(440...499, .held)], rule(400...499, code, .failed), 1),
            ([rule(400...450, .held), rule(452...499, .held)], rule(400...499, .failed), nil),
            ([rule(400...499, code, .held)], rule(400...410, code, .failed), 0),
            ([rule(400...499, code, .held)], rule(400...410, .failed), nil),
            ([rule(nil, AnswerContent(text: "long"), .held)], rule(nil, both, .failed), 0),
            (
                [rule(nil, AnswerContent(headers: [.init(name: "x-a", test: .exists(true))]), .held)],
                rule(nil, both, .failed), 0
            ),
            (
                [rule(nil, AnswerContent(headers: [.init(name: "x-a", test: .equals("2"))]), .held)],
                rule(nil, both, .failed), nil
            ),
            (
                [
                    AnswerRule(.answers(0), .errors([.timeout]), .held),
                    AnswerRule(.answers(0), .errors([.reset]), .held),
                ],
                AnswerRule(.answers(0), .errors([.timeout, .reset]), .failed), 1
            ),
            ([rule(nil, .held)], AnswerRule(.answers(0), .errors([.timeout]), .failed), nil),
        ]
        for (index, (earlier, rule, found)) in table.enumerated() {
            #expect(rule.ruleBefore(in: earlier) == found.map { earlier[$0] }, "\(index)")
        }
    }
}

struct AnswerTimeTests {
    private let now = Timestamp(rfc3339: "2026-11-21T09:15:00Z")!

    @Test(
        arguments: [
            ("30", .seconds(30)), (" 1.5 ", .milliseconds(1500)), ("0", .zero), ("1e2", .seconds(100)),
            ("1795252530", .seconds(30)), ("1795252530.25", .milliseconds(30_250)),
            ("1795252530250", .milliseconds(30_250)),
            ("1795252400", .zero), ("999999999999999999999999", .seconds(86_400)), ("99999999", .seconds(86_400)),
            ("Sat, 21 Nov 2026 09:15:30 GMT", .seconds(30)), ("2026-11-21T09:15:30Z", .seconds(30)),
            ("", nil), ("soon", nil), ("-5", nil), ("inf", nil), ("0x10", nil), ("5s", nil),
        ] as [(String, Duration?)])
    func `a time is seconds, a moment since 1970 or a date`(text: String, wait: Duration?) {
        #expect(AnswerTime.parse(text, now: now) == wait)
    }

    @Test func `a moment is relative to the answer's Date header`() {
        let date = "Sat, 21 Nov 2026 09:15:10 GMT"
        #expect(AnswerTime.parse("1795252530", date: date, now: now) == .seconds(20))
        #expect(AnswerTime.parse("30", date: date, now: now) == .seconds(30))
    }
}
