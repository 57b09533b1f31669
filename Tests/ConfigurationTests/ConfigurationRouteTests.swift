import Policy
import Testing

@testable import Configuration

/// The keys of a route about payloads, answers and order.
struct `The configuration of a route` {
    private func route(_ members: String) throws -> Route {
        try configured("{ routes: { default: { \(members) } } }").defaultRoute
    }

    @Test func `every key is read`() throws {
        let route = try route(
            """
            destination: "HTTP://Reports.example:80/",
            body: '{ "event": {payload} }', require: { pointer: "/content", notEmpty: true },
            accept: {
              contentType: "application/*", otherwise: "hold",
              json: [
                { pointer: "", exists: true }, { pointer: "/error", exists: false },
                { pointer: "/a~1b", equals: { n: [+1, .5, 2., 0x10, -1e3, null, true], s: "x", "\u{e9}": true, "e\u{301}": false } },
              ],
            },
            keyTTL: "24h", coalesce: true, ordering: "strict", redirects: "same-origin",
            batch: { max: 50, maxBytes: "64kB", format: "ndjson", results: { pointer: "/r", status: "/s", error: "/e" } },
            headersCommand: ["bin/sign", "--key"], overrides: ["headers"],
            """)
        #expect(route.destination == "http://reports.example")
        #expect(route.body == #"{ "event": {payload} }"#)
        #expect(route.require == [JSONCondition(pointer: JSONPointer("/content")!, test: .notEmpty)])
        let value = JSONValue.object([
            "\u{e9}": .bool(true), "e\u{301}": .bool(false),
            "n": .array(["1", "0.5", "2", "16", "-1e3"].map { .number($0) } + [.null, .bool(true)]), "s": .string("x"),
        ])
        #expect(
            route.accept
                == AnswerRule.accept(
                    contentType: "application/*",
                    json: [
                        JSONCondition(pointer: JSONPointer("")!, test: .exists(true)),
                        JSONCondition(pointer: JSONPointer("/error")!, test: .exists(false)),
                        JSONCondition(pointer: JSONPointer(tokens: ["a/b"]), test: .equals(value)),
                    ], otherwise: .held))
        #expect(route.keyTTL == .seconds(86_400))
        #expect(route.coalesce)
        #expect(route.ordering == .strict)
        #expect(route.redirects == .sameOrigin)
        let results = Batch.Results(
            pointer: JSONPointer("/r")!, status: JSONPointer("/s")!, error: JSONPointer("/e")!)
        #expect(route.batch == Batch(max: 50, maxBytes: 64_000, format: .ndjson, results: results))
        #expect(route.headersCommand == ["/etc/drainq/bin/sign", "--key"])
        #expect(route.overrides == [.headers])
    }

    @Test func `a route inherits rules as a whole, and null clears them`() throws {
        let configuration = try configured(
            """
            { routes: {
              default: { accept: { contentType: "a/b", otherwise: "fail" }, batch: { max: 5, format: "ndjson" },
                         require: { pointer: "/x", exists: true }, coalesce: true, overrides: [], destination: "d" },
              same: {},
              own: { accept: { json: { pointer: "/ok", equals: true } }, batch: { max: 9 }, require: [] },
              none: { accept: null, batch: null, destination: null, coalesce: false },
            } }
            """)
        #expect(configuration.route(of: TypeName("same")!) == configuration.defaultRoute)
        let own = configuration.route(of: TypeName("own")!)
        #expect(
            own.accept
                == AnswerRule.accept(json: [JSONCondition(pointer: JSONPointer("/ok")!, test: .equals(.bool(true)))]))
        #expect(own.batch == Batch(max: 9))
        #expect(own.require == [])
        #expect(own.coalesce && own.overrides == [])
        let none = configuration.route(of: TypeName("none")!)
        #expect(none.accept == nil && none.batch == nil && none.destination == nil && !none.coalesce)
    }

    @Test(arguments: [
        ("protocol: 'calable'", "protocol: 'calable' is not one of plain, callable; did you mean 'callable'?"),
        ("destination: 'a/b'", "destination: 'a/b' is neither an origin nor a name"),
        ("destination: 'http://h/x'", "destination: 'http://h/x' is more than an origin"),
        ("body: 1", "body: 1 is not text; a body is text"),
        ("require: '/x'", "require: '/x' is not an object"),
        (
            "require: { exists: true }",
            "require: 'pointer' is missing; as in { pointer: \"/result/success\" }"
        ),
        (
            "require: { pointer: '/a' }",
            "require: this condition has no test; give it exactly one of exists, equals, contains and notEmpty"
        ),
        (
            "require: [{ pointer: '/a', exists: true, notEmpty: true }]",
            "require: this condition has several tests; give it exactly one of exists, equals, contains and notEmpty"
        ),
        (
            "require: { pointer: 'a', exists: true }",
            "require.pointer: 'a' is not a JSON Pointer; a pointer is \"\", or begins with a slash"
        ),
        ("require: { pointer: '/a~2', exists: true }", "require.pointer: '/a~2' is not a JSON Pointer"),
        (
            "require: { pointer: '/a', exists: 1 }",
            "require.exists: 1 is not either true or false; without quotes"
        ),
        (
            "require: { pointer: '/a', notEmpty: false }",
            "require.notEmpty: false is not the word true; write true, or leave the key out"
        ),
        (
            "require: { pointer: '/a', equals: Infinity }",
            "require.equals: Infinity is not a JSON number; JSON has decimal numbers only"
        ),
        ("require: { pointer: '/a', equals: { x: 1, x: 2 } }", "require.equals.x: this key is written twice"),
        ("accept: {}", "accept: this rule has no condition; give it a contentType, or json"),
        ("accept: { contenttype: 'a/b' }", "accept.contenttype: there is no such key; did you mean 'contentType'?"),
        (
            "accept: { contentType: 'application/json; charset=utf-8' }",
            "accept.contentType: 'application/json; charset=utf-8' is not a media type; a media type is written application/json, without parameters"
        ),
        (
            "accept: { contentType: 'a/b', otherwise: 'deliver' }",
            "accept.otherwise: 'deliver' is not one of defer, hold, fail"
        ),
        ("keyTTL: '1'", "keyTTL: '1' is not a duration"),
        ("coalesce: 'yes'", "coalesce: 'yes' is neither true, false nor \"merge\""),
        ("ordering: 'keys'", "ordering: 'keys' is not one of any, newest, key, strict; did you mean 'key'?"),
        ("redirects: 'always'", "redirects: 'always' is not one of never, same-origin"),
        (
            "batch: { format: 'json' }",
            "batch: 'max' is missing; as in { max: 100 }"
        ),
        ("batch: { max: 0 }", "batch.max: 0 is not a count; a count is a whole number from 1 to 10000"),
        (
            "batch: { max: 2, results: { status: '/s' } }",
            "batch.results: these results lack 'pointer'; write { pointer: \"/items\" } for a list of results, "
                + "or { failed: \"/errors\" } for a list of failures"
        ),
        (
            "batch: { max: 2, results: { failed: '/f' } }",
            "batch.results: these results lack 'match'; 'match' is the place where a failure names its operation, as in "
                + "{ failed: \"/Failed\", match: \"/Id\" }"
        ),
        (
            "batch: { max: 2, results: { pointer: '/r', failed: '/f', match: '/i' } }",
            "batch.results: these results have both 'pointer' and 'failed'; use 'pointer' for a list of all results, 'failed' for a list "
                + "of failures"
        ),
        ("headersCommand: 'sign'", "headersCommand: 'sign' is not a list of words; a command is a list"),
        (
            "overrides: ['body']", "overrides: 'body' is not one of method, url, headers"
        ),
        ("overrides: 'url'", "overrides: 'url' is not a list of words; a list of method, url, headers"),
    ])
    func `the error for an invalid value names the defect and the correct form`(member: String, expected: String) {
        let errors = configurationErrors("{ routes: { default: { \(member) } } }")
        #expect(errors.count == 1)
        #expect(errors.first?.contains("routes.default." + expected) == true, "\(errors)")
    }

    @Test(arguments: [
        (
            "{ protocol: 'callable', batch: { max: 2 } }",
            "drainq.json:1:47: routes.a.batch: callable functions take one payload at a time; leave out 'batch', or set 'protocol' to 'plain'"
        ),
        (
            "{ batch: { max: 2, results: { pointer: '/r' } } }",
            "drainq.json:1:25: routes.a.batch.results: names neither 'status' nor 'error' of an operation; add 'status', 'error' or both: places within an element"
        ),
        (
            "{ method: 'HEAD', accept: { json: { pointer: '/a', exists: true } } }",
            "drainq.json:1:26: routes.a.method: the route reads the answer's body, and the answer to a HEAD has none; use GET, or let the status alone decide"
        ),
        (
            "{ protocol: 'callable', answerLimit: 0 }",
            "drainq.json:1:53: routes.a.answerLimit: the route reads the answer's body, but 'answerLimit' is 0; leave out 'answerLimit'"
        ),
    ])
    func `contradicting settings are an error of the route`(route: String, expected: String) {
        #expect(configurationErrors("{ routes: { a: \(route) } }") == [expected])
    }

    @Test func `a contradiction with an inherited setting is reported once, where the contradiction begins`() {
        let errors = configurationErrors(
            "{ routes: { default: { batch: { max: 5 } }, a: { protocol: 'callable' }, b: {} } }")
        #expect(
            errors == [
                "drainq.json:1:45: routes.a.batch: callable functions take one payload at a time; leave out 'batch', or set 'protocol' to 'plain'"
            ])
        let inherited = configurationErrors(
            "{ routes: { default: { protocol: 'callable', batch: { max: 5 } }, a: {} } }")
        #expect(inherited.count == 1)
        #expect(inherited.first?.contains("routes.default.batch: callable") == true)
    }

    @Test func `canonical statuses are classified like errors`() throws {
        let route = try route("protocol: 'callable', classify: { ALREADY_EXISTS: 'deliver' }")
        #expect(route.classify == [AnswerRule.classify(.canonical(.alreadyExists), outcome: .delivered)])
        let error = configurationErrors("{ routes: { a: { classify: { UNAVAILABEL: 'fail' } } } }").first
        #expect(error?.hasSuffix("; did you mean 'UNAVAILABLE'?") == true)
    }
}
