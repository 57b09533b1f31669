import Testing

@testable import Policy

struct AcceptTests {
    private let now = Timestamp(rfc3339: "2026-11-21T09:15:00Z")!
    private static let success = JSONCondition(
        pointer: JSONPointer(tokens: ["result", "success"]), test: .equals(.bool(true)))

    private func verdict(
        _ body: String, type: String? = "application/json; charset=utf-8", status: Int = 200, isCut: Bool = false,
        _ route: Route
    ) -> Verdict {
        let headers = type.map { [HeaderField(name: "content-type", value: $0)] } ?? []
        let answer = AttemptReport.Answer(status: status, headers: headers, body: Array(body.utf8), isCut: isCut)
        return Classification.verdict(
            on: SealedReport(result: .answer(answer), duration: .zero), route: route, now: now)
    }

    @Test(
        arguments: [
            (#"{"result":{"success":true}}"#, nil),
            (#"{"result":{"success":false}}"#, "accept: /result/success does not equal true: defers"),
            (#"{"result":{"success":"true"}}"#, "accept: /result/success does not equal true: defers"),
            (#"{"success":true}"#, "accept: /result/success does not equal true: defers"),
            (#"{"result":{"success":true}} x"#, "accept: the answer is not JSON: defers"),
            ("<html>", "accept: the answer is not JSON: defers"), ("", "accept: the answer is not JSON: defers"),
        ] as [(String, String?)])
    func `an answer is delivered only if its JSON meets the accept condition`(body: String, rule: String?) {
        let verdict = verdict(body, Route(accept: AnswerRule.accept(json: [Self.success])))
        #expect(verdict.outcome == (rule == nil ? .delivered : .deferred))
        #expect(verdict.rule.description == rule ?? "status 200: default 200-299 delivers")
    }

    @Test(
        arguments: [
            ("application/json", "application/json", true),
            ("application/json", "Application/JSON ; charset=utf-8", true),
            ("application/*", "application/problem+json", true), ("*/*", "x/y", true),
            ("application/json", "application/jsonx", false), ("application/*", "applicationx/json", false),
            ("application/json", "text/html", false),
        ] as [(String, String, Bool)])
    func `the content type is compared without its parameters`(wanted: String, found: String, agrees: Bool) {
        let verdict = verdict("", type: found, Route(accept: AnswerRule.accept(contentType: wanted)))
        #expect(verdict.outcome == (agrees ? .delivered : .deferred))
    }

    @Test func `a captive portal's page defers the operation`() {
        let route = Route(accept: AnswerRule.accept(contentType: "application/json"))
        #expect(
            verdict("<html>", type: "text/html", route).rule.description
                == "accept: content type is 'text/html', not 'application/json': defers")
        #expect(
            verdict("", type: nil, route).rule.description == "accept: no content type, not 'application/json': defers")
        #expect(
            verdict("", type: "a\u{1B}" + String(repeating: "b", count: 100), route).rule.description
                == "accept: content type is 'a\\u{1b}" + String(repeating: "b", count: 52)
                + "…', not 'application/json': defers")
    }

    @Test func `the rule's description reports a cut answer`() {
        let route = Route(accept: AnswerRule.accept(json: [Self.success]), answerLimit: 27)
        #expect(verdict(#"{"result":{"success":true}}"#, route).outcome == .delivered)
        let cut = verdict(#"{"result":{"success":true},"#, isCut: true, route)
        #expect(
            cut.rule.description == "accept: the answer is longer than answerLimit, or cannot be read whole: defers")
        #expect(verdict("{", route).rule.description == "accept: the answer is not JSON: defers")
    }

    @Test func `an answer as long as answerLimit is not cut`() {
        let route = Route(accept: AnswerRule.accept(json: [Self.success]), answerLimit: 4)
        #expect(verdict(#"{"a""#, route).rule.description == "accept: the answer is not JSON: defers")
        let callable = Route(protocol: .callable, answerLimit: 4)
        #expect(
            verdict(#"{"a""#, callable).rule.description
                == "callable: neither 'result' nor a known 'error.status' in the answer: defers")
        let text = Route(
            answers: [AnswerRule(.answers(0), .statuses([500...599]), content: AnswerContent(text: "busy"), .held)],
            answerLimit: 4)
        #expect(verdict("busy", status: 503, text).outcome == .held)
    }

    @Test func `a cut answer is not JSON, even if the kept bytes are valid JSON`() {
        let wanted = AnswerRule.accept(json: [JSONCondition(pointer: JSONPointer("")!, test: .equals(.number("12")))])
        let route = Route(accept: wanted, answerLimit: 2)
        #expect(verdict("12", route).outcome == .delivered)
        #expect(
            verdict("12", isCut: true, route).rule.description
                == "accept: the answer is longer than answerLimit, or cannot be read whole: defers")
        #expect(verdict("12 ", isCut: true, route).outcome == .deferred)
    }

    @Test func `accept sets the outcome of a mismatch and checks only answers delivered by default`() {
        var route = Route(accept: AnswerRule.accept(json: [Self.success], otherwise: .failed))
        #expect(verdict("{}", route).outcome == .failed)
        #expect(verdict("{}", route).rule.match?.objection == .condition(Self.success, found: nil))
        #expect(verdict("{}", route).rule.description == "accept: /result/success does not equal true: fails")
        #expect(verdict("{}", status: 503, route).rule.description == "status 503: default 500-599 defers")
        route.classify = [
            AnswerRule.classify(.statuses(409...409), outcome: .delivered),
            AnswerRule.classify(.statuses(202...202), outcome: .held),
        ]
        #expect(verdict("{}", status: 409, route).outcome == .delivered)
        #expect(verdict("{}", status: 202, route).outcome == .held)
        route.classify = [AnswerRule.classify(.statuses(200...299), outcome: .delivered)]
        #expect(verdict("{}", status: 200, route).rule.description == "classify \"200-299\": deliver")
    }

    // MARK: - Callable functions

    private func callable(_ body: String, status: Int, _ lines: KeyValuePairs<String, Outcome> = [:]) -> Verdict {
        let classify = lines.map { AnswerRule.classify(.init($0.key)!, outcome: $0.value) }
        return verdict(body, status: status, Route(protocol: .callable, classify: classify))
    }

    /// Repeats the table: a change to either copy fails the test.
    static let canonical: [(String, Outcome)] = [
        ("CANCELLED", .deferred), ("UNKNOWN", .deferred), ("INVALID_ARGUMENT", .failed),
        ("DEADLINE_EXCEEDED", .deferred),
        ("NOT_FOUND", .failed), ("ALREADY_EXISTS", .failed), ("PERMISSION_DENIED", .held),
        ("RESOURCE_EXHAUSTED", .deferred), ("FAILED_PRECONDITION", .failed), ("ABORTED", .deferred),
        ("OUT_OF_RANGE", .failed), ("UNIMPLEMENTED", .failed), ("INTERNAL", .deferred), ("UNAVAILABLE", .deferred),
        ("DATA_LOSS", .deferred), ("UNAUTHENTICATED", .held),
    ]

    @Test func `the table has every canonical status`() {
        #expect(Set(Self.canonical.map(\.0)) == Set(CanonicalStatus.allCases.map(\.rawValue)))
    }

    @Test(arguments: canonical)
    func `a callable function's canonical status decides, whatever the HTTP status`(name: String, outcome: Outcome) {
        for status in [200, 400, 404, 429, 500, 503] {
            let verdict = callable(#"{"error":{"status":"\#(name)","message":"m"}}"#, status: status)
            #expect(verdict.outcome == outcome)
            #expect(verdict.rule.description == "callable \(name): default \(outcome.verb)s")
            #expect(verdict.isRateLimited == (name == "RESOURCE_EXHAUSTED" || status == 429))
            #expect(verdict.canonical?.rawValue == name)
            let overridden = callable(#"{"error":{"status":"\#(name)"}}"#, status: status, [name: .delivered])
            #expect(overridden.outcome == .delivered)
            #expect(overridden.rule.description == "classify \"\(name)\": deliver")
            #expect(AnswerPattern(name)?.description == name)
        }
    }

    @Test func `classify by canonical status precedes classify by HTTP status, and both precede the default`() {
        let notFound = #"{"error":{"status":"NOT_FOUND"}}"#
        #expect(callable(notFound, status: 404, ["404": .deferred]).rule.description == "classify \"404\": defer")
        #expect(callable(notFound, status: 404, ["404": .deferred, "NOT_FOUND": .held]).outcome == .held)
        #expect(callable(notFound, status: 200, ["200": .held]).rule.description == "classify \"200\": hold")
        #expect(callable(notFound, status: 200, ["200": .held, "NOT_FOUND": .deferred]).outcome == .deferred)
    }

    @Test(
        arguments: [
            (200, #"{"result":null}"#, "status 200: default 200-299 delivers"),
            (200, #"{"result":{},"error":null}"#, "status 200: default 200-299 delivers"),
            (200, "{}", "callable: neither 'result' nor a known 'error.status' in the answer: defers"),
            (200, "<html>", "callable: neither 'result' nor a known 'error.status' in the answer: defers"),
            (200, "", "callable: neither 'result' nor a known 'error.status' in the answer: defers"),
            (204, "", "callable: neither 'result' nor a known 'error.status' in the answer: defers"),
            (
                200, #"{"error":{"status":"OK"},"result":1}"#,
                "callable: neither 'result' nor a known 'error.status' in the answer: defers"
            ),
            (200, #"[{"result":1}]"#, "callable: neither 'result' nor a known 'error.status' in the answer: defers"),
            (401, "<html>", "status 401: default 401 holds"), (503, "", "status 503: default 500-599 defers"),
            (404, #"{"error":{"status":"no"}}"#, "status 404: default 400-499 fails"),
            (500, #"{"result":1}"#, "status 500: default 500-599 defers"),
            (302, "", "status 302: default 300-399 holds"),
        ] as [(Int, String, String)])
    func `a callable function's answer delivers only with a result`(status: Int, body: String, rule: String) {
        #expect(callable(body, status: status).rule.description == rule)
    }

    @Test func `a callable function's result must meet the accept rule too`() {
        let route = Route(protocol: .callable, accept: AnswerRule.accept(json: [Self.success]))
        #expect(verdict(#"{"result":{"success":true}}"#, route).outcome == .delivered)
        #expect(
            verdict(#"{"result":{"success":false}}"#, route).rule.description
                == "accept: /result/success does not equal true: defers")
        let long = Route(protocol: .callable, answerLimit: 4)
        #expect(
            verdict(#"{"re"#, isCut: true, long).rule.description
                == "callable: the answer is longer than answerLimit, or cannot be read whole: defers")
    }
}
