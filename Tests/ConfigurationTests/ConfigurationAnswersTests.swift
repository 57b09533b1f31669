import Testing

@testable import Configuration
@testable import Policy

struct `The rules for answers of a route` {
    @Test func `every key is read, and every rule has its line`() throws {
        let route = try configured(
            """
            { routes: { default: { answers: [
              { status: 409, json: { pointer: "/code", equals: "23505" }, is: "deliver" },
              { status: ["408", "500-599", 429], header: { "X-A": "0", "x-b": true, "x-c": false },
                json: [{ pointer: "/a", contains: "b" }], body: "text", is: "defer", until: "/retry_after" },
              { error: ["timeout", "dns"], is: "hold" },
              { error: "any", is: "fail" },
              { status: "any", is: "defer", until: "x-reset" },
            ] } } }
            """
        ).defaultRoute
        let code = JSONCondition(pointer: JSONPointer("/code")!, test: .equals(.string("23505")))
        let headers: [AnswerContent.Header] = [
            .init(name: "X-A", test: .equals("0")), .init(name: "x-b", test: .exists(true)),
            .init(name: "x-c", test: .exists(false)),
        ]
        let content = AnswerContent(
            headers: headers, json: [JSONCondition(pointer: JSONPointer("/a")!, test: .contains("b"))], text: "text")
        let all = NetworkError.allCases.filter { $0 != .cancelled }
        #expect(
            route.answers == [
                AnswerRule(.answers(0), .statuses([409...409]), content: AnswerContent(json: [code]), .delivered),
                AnswerRule(
                    .answers(1), .statuses([408...408, 500...599, 429...429]), content: content, .deferred,
                    until: .time(.pointer(JSONPointer("/retry_after")!))),
                AnswerRule(.answers(2), .errors([.dns, .timeout]), .held),
                AnswerRule(.answers(3), .errors(all), .failed),
                AnswerRule(.answers(4), .statuses(nil), .deferred, until: .time(.header("x-reset"))),
            ])
        #expect(route.answers.map(\.line.number) == [2, 3, 5, 6, 7])
    }

    @Test func `a route inherits the answers as a whole, and an empty list clears the inherited rules`() throws {
        let configuration = try configured(
            """
            { routes: { default: { answers: [{ status: 404, is: "defer" }], classify: { "410": "hold" },
                                   accept: { contentType: "a/b" } },
                        same: {}, own: { answers: [{ status: 405, is: "hold" }] }, none: { answers: [] } } }
            """)
        func answers(_ type: String) -> [AnswerRule] { configuration.route(of: TypeName(type)!).answers }
        #expect(answers("same") == configuration.defaultRoute.answers)
        #expect(answers("own").map(\.outcome) == [.held])
        #expect(answers("none").isEmpty)
        #expect(configuration.defaultRoute.classify.map(\.line.number) == [1])
        #expect(configuration.defaultRoute.accept?.line.number == 2)
    }

    @Test(arguments: [
        ("1", ": 1 is not a list of rules; rules are written [{ status: 409, is: \"deliver\" }]"),
        ("[1]", ": 1 is not an object"),
        ("[{ status: 409 }]", ": 'is' is missing; as in { is: \"defer\" }"),
        (
            "[{ is: 'defer' }]",
            ": this rule has no condition; give it a status, which may be \"any\", or an error"
        ),
        (
            "[{ status: 409, is: 'delivr' }]",
            ".is: 'delivr' is not one of deliver, defer, hold, fail; did you mean 'deliver'?"
        ),
        ("[{ statuss: 409, is: 'defer' }]", ".statuss: there is no such key; did you mean 'status'?"),
        ("[{ status: 409, hedaer: {}, is: 'defer' }]", ".hedaer: there is no such key; did you mean 'header'?"),
        ("[{ status: 4040, is: 'defer' }]", ".status: 4040 is not a status; a status is 409, a range \"500-599\""),
        ("[{ status: 'timeout', is: 'defer' }]", ".status: 'timeout' is not a status"),
        ("[{ status: 'ayn', is: 'defer' }]", ".status: 'ayn' is not a status; did you mean 'any'?"),
        ("[{ status: [], is: 'defer' }]", ".status: a list is not a status"),
        ("[{ error: 'timout', is: 'defer' }]", ".error: 'timout' is not one of dns,"),
        ("[{ error: 'cancelled', is: 'defer' }]", ".error: 'cancelled' is not one of dns,"),
        (
            "[{ error: 'dns', status: 4, is: 'defer' }]", ".status: 4 is not a status"
        ),
        (
            "[{ error: 'dns', header: { a: '1' }, is: 'defer' }]",
            ": a rule with 'error' cannot have 'until' or conditions on an answer; write two rules"
        ),
        ("[{ header: { 'a:': '1' }, is: 'defer' }]", ".header.a:: 'a:' is not the name of a header field"),
        ("[{ header: { a: 1 }, is: 'defer' }]", ".header.a: 1 is neither text nor true or false"),
        ("[{ json: { pointer: 'x', exists: true }, is: 'defer' }]", ".json.pointer: 'x' is not a JSON Pointer"),
        ("[{ json: { pointer: '/x', contains: '' }, is: 'defer' }]", ".json.contains: '' is not a text"),
        ("[{ status: 409, body: '', is: 'defer' }]", ".body: '' is not a text"),
        ("[{ status: 409, is: 'defer', until: '/a~2' }]", ".until: '/a~2' is not a JSON Pointer"),
        (
            "[{ status: 409, is: 'defer', until: 'retry after' }]",
            ".until: 'retry after' is neither the name of a header field nor a JSON Pointer; write \"x-ratelimit-reset\""
        ),
        (
            "[{ status: 400, is: 'fail', until: 'retry-after' }]",
            ": this rule has 'until', and neither defers nor delivers; only such a rule may have 'until': write is: \"defer\""
        ),
        (
            "[{ status: 200, is: 'deliver', until: ['/cost', '/left'] }]",
            ".until: a list of 2 is not a cost, what is left, and a rate; write [\"/cost\", \"/available\", \"/restoreRate\"]"
        ),
        (
            "[{ status: '400-499', is: 'defer' }, { status: 409, is: 'deliver' }]",
            ": this rule never decides: the rules up to line 1 match the same answers; the first rule that matches decides"
        ),
    ])
    func `the error for an invalid rule names the defect and the correct form`(rules: String, expected: String) {
        let errors = configurationErrors("{ routes: { default: { answers: \(rules) } } }")
        #expect(errors.count == 1)
        #expect(errors.first?.contains("routes.default.answers" + expected) == true, "\(errors)")
    }

    /// The slash and the combining acute are a single `Character`.
    @Test func `a pointer may begin with a combining mark`() throws {
        let route = try configured(
            "{ routes: { default: { answers: [{ status: 409, is: 'defer', until: '/\u{301}a' }] } } }"
        ).defaultRoute
        #expect(route.answers.map(\.until) == [.time(.pointer(JSONPointer("/\u{301}a")!))])
    }

    @Test func `a rule that never decides is reported with its position`() {
        let errors = configurationErrors(
            """
            { routes: { default: { answers: [
              { status: "any", is: "defer" },
              { error: "dns", is: "hold" },
              { status: 409, json: { pointer: "/code", equals: "23505" }, is: "deliver" },
            ] } } }
            """)
        #expect(errors.count == 1)
        #expect(
            errors.first?.hasPrefix(
                "drainq.json:4:3: routes.default.answers: this rule never decides: the rules up to line 2") == true)
    }

    @Test func `a rule on the body is refused for an answer without a body`() {
        let errors = configurationErrors(
            "{ routes: { default: { method: 'HEAD', answers: [{ status: 409, body: 'x', is: 'defer' }] } } }")
        #expect(
            errors.first?.contains("method: the route reads the answer's body, and the answer to a HEAD has none")
                == true)
    }

    @Test func `after has one value, and is a condition of its own`() throws {
        let rules = try configured(
            #"{ routes: { default: { answers: [{ status: 409, after: "unknown", is: "deliver" }, { after: "unknown", is: "hold" }] } } }"#
        ).defaultRoute.answers
        #expect(rules.map(\.content) == Array(repeating: AnswerContent(isAfterUnknown: true), count: 2))
        #expect(
            failure(#"{ routes: { default: { answers: [{ status: 409, after: "lost", is: "deliver" }] } } }"#)
                .contains("'lost'"))
        #expect(
            failure(#"{ routes: { default: { answers: [{ error: "dns", after: "unknown", is: "deliver" }] } } }"#)
                .contains("a rule with 'error' cannot have"))
    }

    @Test(arguments: [("2xx", "200-299"), ("404", "404-404"), ("5XX", "5xx")])
    func `classify does not take two lines for the same answers`(first: String, second: String) {
        let error = failure(#"{ routes: { default: { classify: { "\#(first)": "fail", "\#(second)": "deliver" } } } }"#)
        #expect(error.contains("this line is written twice"))
    }

    /// The errors of a configuration, one a line.
    private func failure(_ text: String) -> String {
        do {
            _ = try configured(text)
            return ""
        } catch {
            return error.errors.map(\.description).joined(separator: "\n")
        }
    }
}
