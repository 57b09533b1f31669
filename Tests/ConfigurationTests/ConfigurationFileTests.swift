import Testing

@testable import Configuration
@testable import Policy

struct `The configuration file` {
    private func read(_ text: String) throws(ConfigurationErrors) -> Configuration {
        try ConfigurationFile.read(Array(text.utf8), name: "drainq.json", directory: "/etc/drainq")
    }

    /// The errors as they are printed, `description; hint`.
    private func errors(_ text: String) -> [String] {
        do throws(ConfigurationErrors) {
            _ = try read(text)
            return []
        } catch {
            return error.errors.map { $0.description + ($0.hint.map { "; \($0)" } ?? "") }
        }
    }

    /// Returns the error of a key of the default route.
    private func routeError(_ member: String) -> String? {
        errors("{ routes: { default: { \(member) } } }").first.map {
            String($0.dropFirst("drainq.json:1:".count).drop { $0 != " " }.dropFirst())
        }
    }

    @Test func `an empty object is the default configuration`() throws {
        #expect(try read("{}") == Configuration())
    }

    @Test func `a file of other bytes is another configuration, also if its texts are of equal characters`() throws {
        let files = ["cafe\u{301}", "caf\u{E9}"].map { name in
            Array("{ routes: { default: { url: 'http://a/\(name)' } } }".utf8)
        }
        var followed = try FollowedConfiguration(files[0], of: "drainq.json", directory: "/etc/drainq")
        let before = followed.configuration
        let changes = try [files[0], files[1], files[1]].map { try followed.follow($0) }
        #expect(changes == [false, true, false] && followed.configuration != before)
    }

    @Test func `every key is read`() throws {
        let configuration = try read(
            """
            {
              version: 1, // of the format
              'routes': { default: {
                url: 'https://example.com:8443/v1/{type}/{payload.user.id}?id={id}&k={key}', method: "PUT",
                headers: { "X-A": "1", Accept: "application/json", },
                retry: { base: "1s", multiplier: 2.5, max: "1m", attempts: 9, maxAge: "1d", jitter: 0.5 },
                retryRateLimited: { schedule: ["5s", "1h30m"], attempts: 3, jitter: 0 },
                timeouts: { connect: "500ms", request: "5s", total: "1m" },
                classify: { "404": "defer", "500-599": "hold", tls: "fail", "409": "deliver" },
                expiresAfter: "7d", answerLimit: "1KiB",
              } },
              limits: { operations: 0x10, bytes: "1GB", operationBytes: 1000, minimumFree: "0B", whenFull: "dropOldest" },
              retention: { delivered: "1h", failed: "30d" },
            }
            """)
        let expected = Route(
            url: "https://example.com:8443/v1/{type}/{payload.user.id}?id={id}&k={key}", method: "PUT",
            headers: [HeaderField(name: "X-A", value: "1"), HeaderField(name: "Accept", value: "application/json")],
            retry: BackoffSchedule(
                delays: .exponential(base: .seconds(1), multiplier: 2.5, max: .seconds(60)), attempts: 9,
                maxAge: .seconds(86_400), jitter: 0.5),
            retryRateLimited: BackoffSchedule(delays: .list([.seconds(5), .seconds(5_400)]), attempts: 3),
            timeouts: Timeouts(connect: .milliseconds(500), request: .seconds(5), total: .seconds(60)),
            classify: [
                AnswerRule.classify(.statuses(404...404), outcome: .deferred),
                AnswerRule.classify(.statuses(500...599), outcome: .held),
                AnswerRule.classify(.error(.tls), outcome: .failed),
                AnswerRule.classify(.statuses(409...409), outcome: .delivered),
            ], expiresAfter: .seconds(604_800), answerLimit: 1_024)
        #expect(configuration.defaultRoute == expected)
        #expect(
            configuration.limits
                == Limits(
                    operations: 16, bytes: 1_000_000_000, operationBytes: 1_000, minimumFree: 0, whenFull: .dropOldest))
        #expect(configuration.retention == Retention(delivered: .seconds(3_600), failed: .seconds(2_592_000)))
    }

    @Test func `a route inherits missing keys, wherever "default" stands`() throws {
        let configuration = try read(
            """
            { routes: {
              a: { method: "PATCH", timeouts: { total: "5m" }, headers: { accept: "text/plain", "X-B": null },
                   classify: { "404": "fail" }, expiresAfter: null, retryRateLimited: null },
              default: { url: "http://h/", headers: { Accept: "*/*", "X-B": "b", "X-C": "c" }, expiresAfter: "1d",
                         timeouts: { connect: "1s" }, classify: { "404": "defer", tls: "fail" },
                         retryRateLimited: "quick" },
            } }
            """)
        let route = configuration.route(of: TypeName("a")!)
        #expect(route.url == "http://h/")
        #expect(route.method == "PATCH")
        #expect(route.timeouts == Timeouts(connect: .seconds(1), request: .seconds(30), total: .seconds(300)))
        #expect(
            route.headers == [HeaderField(name: "X-C", value: "c"), HeaderField(name: "accept", value: "text/plain")])
        #expect(
            route.classify == [
                AnswerRule.classify(.error(.tls), outcome: .failed),
                AnswerRule.classify(.statuses(404...404), outcome: .failed),
            ])
        #expect(route.expiresAfter == nil)
        #expect(route.retryRateLimited == nil)
        #expect(configuration.route(of: TypeName("b")!) == configuration.defaultRoute)
    }

    @Test(arguments: [
        ("{ limits: { operation: 1 } }", "1:13: limits.operation: there is no such key; did you mean 'operations'?"),
        (
            "{\n routes: { default: { timeouts: { conect: '1s' } } } }",
            "2:35: routes.default.timeouts.conect: there is no such key; did you mean 'connect'?"
        ),
        ("{ route: {} }", "1:3: route: there is no such key; did you mean 'routes'?"),
        ("{ url: 'http://h/' }", "1:3: url: there is no such key; did you mean 'routes.<type>.url'?"),
        (
            "{ plugins: {} }",
            "1:3: plugins: there is no such key; the keys here are version, $schema, routes, secrets, destinations, limits, retention, log, conditions, bodyFiles, passEnvironment, metrics, hooks"
        ),
        ("{ routes: { t: { retri: 3 } } }", "1:18: routes.t.retri: there is no such key; did you mean 'retry'?"),
        (
            "{ 'limits.bytes': 1 }",
            "1:3: 'limits.bytes': there is no such key; the keys here are version, $schema, routes, secrets, destinations, limits, retention, log, conditions, bodyFiles, passEnvironment, metrics, hooks"
        ),
    ])
    func `the error for an unknown key names the nearest known key`(text: String, expected: String) {
        #expect(errors(text) == ["drainq.json:" + expected])
    }

    @Test(arguments: [
        "plugins", "hooks.deferred", "metrics.port", "routes.default.secrets", "routes.default.concurrency",
    ])
    func `a key of a future version is refused, not ignored`(path: String) {
        let names = path.split(separator: ".")
        let text = names.reversed().reduce("{}") { "{ \($1): \($0) }" }
        #expect(errors(text).first?.contains(": there is no such key") == true)
    }

    @Test(arguments: [
        (
            "timeouts: { total: '2 minuts' }",
            "routes.default.timeouts.total: '2 minuts' is not a duration; durations are written 500ms 90s 5m 2h 3d"
        ),
        (
            "timeouts: { total: 5 }",
            "routes.default.timeouts.total: 5 is not a duration; durations are written 500ms 90s 5m 2h 3d"
        ),
        (
            "timeouts: { total: '0s' }",
            "routes.default.timeouts.total: '0s' is too short; it must be greater than zero"
        ),
        ("timeouts: '5s'", "routes.default.timeouts: '5s' is not an object"),
        (
            "answerLimit: '1 MB'",
            "routes.default.answerLimit: '1 MB' is not a size; sizes are written 512B 64KiB 10MB 1.5GB"
        ),
        ("answerLimit: -1", "routes.default.answerLimit: -1 is not a size; sizes are written 512B 64KiB 10MB 1.5GB"),
        (
            "method: 'post'",
            "routes.default.method: 'post' is not a method; methods are written in capitals: POST PUT PATCH DELETE"
        ),
        (
            "method: 'CONNECT'",
            "routes.default.method: 'CONNECT' is not a method; methods are written in capitals: POST PUT PATCH DELETE"
        ),
        (
            "method: null",
            "routes.default.method: null is not a method; methods are written in capitals: POST PUT PATCH DELETE"
        ),
        ("url: [1]", "routes.default.url: a list is not a URL; a URL is text in quotes"),
        (
            "classify: { '6xx': 'fail' }",
            "routes.default.classify.6xx: '6xx' is neither a status, a range of statuses nor an error; write \"404\", \"500-599\", \"5xx\", or one of dns, refused, "
        ),
        (
            "classify: { timeuot: 'fail' }",
            "routes.default.classify.timeuot: 'timeuot' is neither a status, a range of statuses nor an error; did you mean 'timeout'?"
        ),
        (
            "classify: { tls: 'held' }",
            "routes.default.classify.tls: 'held' is not one of deliver, defer, hold, fail; did you mean 'hold'?"
        ),
        (
            "classify: 'fail'",
            "routes.default.classify: 'fail' is not an object; outcomes are written { \"404\": \"defer\", tls: \"hold\" }"
        ),
        ("retry: 'standrad'", "routes.default.retry: 'standrad' is not a preset; did you mean 'standard'?"),
        ("retry: 5", "routes.default.retry: 5 is not a preset; the presets are "),
        ("retry: { bse: '1s' }", "routes.default.retry.bse: there is no such key; did you mean 'base'?"),
        (
            "retry: { multiplier: 2 }",
            "routes.default.retry: this schedule is invalid: it lacks 'base'; 'base' is the first delay, as in { base: \"30s\", multiplier: 2, max: \"1h\" }"
        ),
        (
            "retry: { base: '1s', multiplier: 0.5 }",
            "routes.default.retry.multiplier: 0.5 is not a number; a number from 1.0 to 100.0"
        ),
        (
            "retry: { base: '2h', max: '1h' }",
            "routes.default.retry: this schedule is invalid: its 'max' is shorter than its 'base'"
        ),
        (
            "retry: { base: '2h', schedule: ['1h'] }",
            "routes.default.retry: this schedule is invalid: it defines its delays twice; leave out 'schedule', or 'preset', 'base', 'multiplier' and 'max'"
        ),
        (
            "retry: { preset: 'steps', base: '2h' }",
            "routes.default.retry: this schedule is invalid: its preset is a list of delays, which 'base', 'multiplier' and 'max' cannot change; leave out 'preset' to write a schedule of your own"
        ),
        (
            "retry: { schedule: [] }",
            "routes.default.retry.schedule: an empty list is not a list of durations; a schedule is written [\"5s\", \"30s\", \"2m\"]"
        ),
        (
            "retry: { schedule: ['5s', 'x'] }",
            "routes.default.retry.schedule: 'x' is not a duration; durations are written 500ms 90s 5m 2h 3d"
        ),
        (
            "retry: { attempts: 0 }",
            "routes.default.retry.attempts: 0 is not a count; a count is a whole number from 1 to 9999"
        ),
        ("headers: []", "routes.default.headers: a list is not an object; headers are written { Name: \"value\" }"),
        (
            "headers: { 'A b': 'x' }",
            "routes.default.headers.A b: 'A b' is not the name of a header field; letters, digits and -, without a colon"
        ),
        (
            "headers: { hOST: 'x' }",
            "routes.default.headers.hOST: this header cannot be set; drainq writes it for each request, from the URL, the body and the operation"
        ),
        (
            "headers: { 'Idempotency-Key': 'x' }",
            "routes.default.headers.Idempotency-Key: this header cannot be set; drainq writes it for each request, from the URL, the body and the operation"
        ),
        (
            "headers: { A: 'x\\r\\nB: y' }",
            "routes.default.headers.A: the value has a line break, a control character or a letter that is not ASCII; header values are printable ASCII"
        ),
        (
            "headers: { A: 'x ' }",
            "routes.default.headers.A: the value begins or ends with a space; servers ignore it: remove it"
        ),
        ("headers: { A: 1 }", "routes.default.headers.A: 1 is not text; header values are text in quotes"),
        (
            "headers: { A: 'x', a: 'y' }",
            "routes.default.headers.a: this field is written twice; case makes no difference: 'A' is the same field"
        ),
        (
            "headers: { Authorization: 'Bearer ${secrets:api}' }",
            "routes.default.headers.Authorization: '${secrets:api}' is not a secret reference; a secret is written ${secret:NAME}, and NAME is a key of 'secrets'"
        ),
        (
            "classify: { cancelled: 'fail' }",
            "routes.default.classify.cancelled: 'cancelled' is neither a status, a range of statuses nor an error"
        ),
    ])
    func `the error for an invalid value names the defect and the correct form`(member: String, expected: String) {
        #expect(routeError(member)?.hasPrefix(expected) == true, "\(routeError(member) ?? "no error")")
    }

    @Test(arguments: [
        "Host", "Content-Length", "Transfer-Encoding", "Connection", "Expect", "Accept-Encoding", "TE", "Trailer",
        "Upgrade", "Keep-Alive", "Proxy-Connection", "Idempotency-Key",
        "Drainq-Attempt",
    ])
    func `the transport's own headers are refused`(name: String) {
        #expect(routeError("headers: { '\(name)': 'x' }")?.contains("this header cannot be set") == true)
    }

    @Test(arguments: [
        ("api.example.com", "is not an absolute URL"), ("ftp://h/", "is not an absolute URL"),
        ("HTTP://h/", "is not an absolute URL"), ("https:///x", "has no host"),
        ("https://h:0/", "has an invalid port: '0'"),
        ("https://h:99999/", "has an invalid port"), ("https://h:+1/", "has an invalid port"),
        ("https://h:/", "has an invalid port"),
        ("https://u:p@h/", "contains a user name or password"), ("https://{type}.h/", "has a placeholder in its host"),
        ("https://[::1/", "has an invalid host"), ("https://[::1]:x/", "has an invalid host"),
        ("https://h/?k=${secret:}", "is not the name of a secret"),
        ("https://h/?k=${id}", "is not a secret reference"),
        ("https://h!/", "has an invalid host: 'h!'"),
        ("https://h/#x", "has a fragment"), ("https://h/%zz", "has a '%' without"), ("https://h/a b", "U+0020"),
        ("https://h/\u{202E}", "U+202E"), ("https://h/{", "has a '{' that begins no placeholder"),
        ("https://h/}", "has a '}' without '{'"),
        ("https://h/{kind}", "'{kind}' is an unknown placeholder"),
        ("https://h/{payload.}", "is an unknown placeholder"),
        ("https://h/{payload.a..b}", "is an unknown placeholder"),
        ("https://h/{}", "has a '{' that begins no placeholder"),
        ("https://h/<x>", "has a character that is invalid in a URL, '<'"),
        ("https://h/" + String(repeating: "x", count: 9_000), "is longer than 8192 bytes"),
    ])
    func `an invalid URL is refused`(url: String, reason: String) {
        #expect(ConfigurationFile.urlError(url)?.contains(reason) == true)
        #expect(routeError("url: '\(url)'")?.contains(reason) == true)
    }

    @Test(arguments: [
        "https://user:SECRETPW@h/", "http://user:SECRET/SECRETPW@h/", "ftp://user:SECRETPW@h/",
        "https://user:SECRETPW@h:0/{id}", "https://user:SECRETPW@", "user:SECRETPW@h",
    ])
    func `a refused URL is reported without its password`(url: String) throws {
        #expect(!(try #require(ConfigurationFile.urlError(url))).contains("SECRET"))
        #expect(!(try #require(routeError("url: '\(url)'"))).contains("SECRET"))
    }

    @Test(arguments: [
        "https://h", "http://127.0.0.1:8080?q={payload.a.b}", "https://xn--bcher-kva.example/%7B{id}",
        "http://[::1]:8080/$1", "https://[fe80::1]?a=$",
    ])
    func `a valid URL is accepted`(url: String) {
        #expect(ConfigurationFile.urlError(url) == nil)
        #expect(Route(url: url).origin != nil)
    }

    @Test func `a newer version is refused without further errors`() {
        #expect(
            errors("{ version: 2, novelty: {} }") == [
                "drainq.json:1:12: version: 2 is newer than this drainq; this drainq reads version 1"
            ])
        #expect(
            errors("{ version: '1' }") == [
                "drainq.json:1:12: version: '1' is not a version; this drainq reads version 1"
            ])
    }

    @Test func `a repeated key is refused`() {
        #expect(
            errors("{ limits: { bytes: 1,\n bytes: 2 } }") == [
                "drainq.json:2:2: limits.bytes: this key is written twice; the other one is in line 1"
            ])
    }

    @Test func `a type unfit for a file name is refused`() {
        #expect(
            errors("{ routes: { 'a/b': {} } }") == [
                "drainq.json:1:13: routes.a/b: 'a/b' is not a type; a type is 1 to 64 of A-Z a-z 0-9 _ - and ., and does not begin with a dot"
            ])
        #expect(errors("{ routes: [] }").first?.contains("a list is not an object; routes are written") == true)
    }

    @Test func `errors are reported in the order of the file, up to ten`() {
        let text =
            "{ x: 1,\n routes: { a: { method: 'get' }, default: { url: 'h' } },\n limits: { whenFull: 'rejcet' } }"
        #expect(
            errors(text).map { String($0.prefix { $0 != " " }) } == [
                "drainq.json:1:3:", "drainq.json:2:25:", "drainq.json:2:50:", "drainq.json:3:22:",
            ])
        let many = "{" + (1...12).map { "zz\($0): 1," }.joined() + "}"
        let error = #expect(throws: ConfigurationErrors.self) { try read(many) }
        #expect(error?.errors.count == 10)
        #expect(error?.omitted == 2)
        #expect(error?.description.hasSuffix("\nand 2 more") == true)
    }

    @Test func `a syntax error has its place and no key`() {
        #expect(errors("{\n  a: }") == ["drainq.json:2:6: expected a value, found '}'"])
    }

    @Test func `a file that is too large or has no object is refused`() {
        #expect(
            errors(String(repeating: " ", count: 1_048_577)) == [
                "drainq.json:1:1: the file is larger than 1048576 bytes"
            ])
        #expect(
            errors("[]") == ["drainq.json:1:1: a list is not an object; an object is written in braces: { version: 1 }"]
        )
        #expect(
            errors("{ routes: { default: { batch: 10 } }, secrets: { a: 'literal' } }") == [
                "drainq.json:1:31: routes.default.batch: 10 is not an object; an object is written in braces: { max: 100 }",
                "drainq.json:1:53: secrets.a: 'literal' is not an object; an object is written in braces: "
                    + "{ file: \"/etc/drainq/api.token\" }",
            ])
    }
}
