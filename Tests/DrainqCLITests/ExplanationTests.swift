import Configuration
import Testing

@testable import DrainqCLI
@testable import Policy

private func configured(_ text: String) throws -> Policy.Configuration {
    try ConfigurationFile.read(Array(text.utf8), name: "drainq.json", directory: "/etc/drainq")
}

struct `The explanation of an answer` {
    private func explained(_ text: String, type: String = "default", available: [Transport] = Transport.allCases) throws
        -> ExplainedRoute
    {
        ExplainedRoute(of: TypeName(type)!, in: try configured(text), available: available)
    }

    private func explanation(_ answer: String, _ configuration: String) throws -> Explanation {
        Explanation(try #require(AnswerPattern(answer)), on: try explained(configuration))
    }

    private static let plain = "{ routes: { default: { url: 'https://h/{type}' } } }"

    @Test(arguments: [
        ("204", "delivered", "status 204: default 200-299 delivers", false),
        ("503", "deferred", "status 503: default 500-599 defers", true),
        ("401", "held", "status 401: default 401 holds", false),
        ("404", "failed", "status 404: default 400-499 fails", true),
        ("tls", "held", "error tls: default holds", false),
        ("timeout", "deferred", "error timeout: default defers", true),
    ])
    func `an explanation has the outcome, the rule and whether the attempt counts`(
        answer: String, outcome: String, rule: String, counts: Bool
    ) throws {
        let explanation = try explanation(answer, Self.plain)
        #expect(explanation.outcome == outcome)
        #expect(explanation.rule == rule)
        #expect(explanation.countsAttempt == counts)
    }

    @Test func `a deciding line of classify is the rule`() throws {
        let explanation = try explanation(
            "404", "{ routes: { default: { url: 'https://h', classify: { '404': 'defer' } } } }")
        #expect(explanation.outcome == "deferred")
        #expect(explanation.rule == "classify \"404\": defer")
        #expect(explanation.retry?.delays.first == "30s")
    }

    @Test(arguments: [
        ("retry: 'standard'", "503", "it stays in the queue until its next attempt; this one is counted"),
        (
            "expiresAfter: '3s'", "503",
            "it stays in the queue until it is 3s old, before its next attempt, and fails; this one is counted"
        ),
        ("retry: { preset: 'steps', attempts: 1 }", "503", "it goes to failed/; this one is counted"),
        (
            "retry: { preset: 'steps', attempts: 1 }, expiresAfter: '3s'", "503",
            "it goes to failed/; this one is counted"
        ),
        ("expiresAfter: '3s'", "proxy", "it stays in the queue until its next attempt; this one is not counted"),
        (
            "retry: 'standard'", "401",
            "it is parked: put back as it was, no attempt counted, until a run has sent another operation with the same credentials; if that one is delivered, this one is sent again, and fails if it is refused once more; if that one is refused too, the destination is held; if there is none, this one is sent again after 5m, then every 1h; 'drainq send' fails at once"
        ),
        ("ordering: 'strict'", "401", "it is put back as it was; no attempt is counted"),
    ])
    func `the sentence about the operation follows its route`(route: String, answer: String, words: String) throws {
        let configuration = "{ routes: { default: { url: 'https://h', \(route) } } }"
        #expect(try explanation(answer, configuration).operation == words)
    }

    @Test(arguments: [
        ("connect-timeout", "timeouts.connect, 5s"), ("timeout", "timeouts.request, 30s"),
        ("deadline", "timeouts.total, 1m30s"), ("refused", nil), ("503", nil),
    ])
    func `a time-out error names the time limit of its attempt`(answer: String, limit: String?) throws {
        let route = "timeouts: { connect: '5s', total: '90s' }"
        #expect(try explanation(answer, "{ routes: { default: { url: 'https://h', \(route) } } }").limit == limit)
    }

    @Test func `a delivery has the condition of the route's accept`() throws {
        let route = "accept: { contentType: 'a/b', json: { pointer: '/ok', equals: true }, otherwise: 'fail' }"
        let explanation = try explanation("200", "{ routes: { default: { url: 'https://h', \(route) } } }")
        #expect(explanation.provided == "its content type is a/b and /ok equals true")
        #expect(explanation.otherwise == "failed")
        #expect(explanation.retry == nil)
        #expect(try self.explanation("200", Self.plain).provided == nil)
    }

    @Test func `canonical names have outcomes on a callable route`() throws {
        let callable = "{ routes: { default: { url: 'https://h', protocol: 'callable' } } }"
        #expect(try explanation("UNAVAILABLE", callable).outcome == "deferred")
        #expect(try explanation("UNAUTHENTICATED", callable).outcome == "held")
        #expect(try explanation("INVALID_ARGUMENT", callable).outcome == "failed")
        #expect(try explanation("200", callable).provided == "it has a result and no error")
    }

    @Test func `429 is retried by its own schedule`() throws {
        let text = "{ routes: { default: { url: 'https://h', retry: 'steps', retryRateLimited: 'rate-limit' } } }"
        #expect(try explanation("429", text).retry?.delays == ["5s", "15s"])
        #expect(try explanation("500", text).retry?.delays == ["5s", "30s", "2m"])
    }

    @Test(arguments: [
        ("'standard'", "after 30s, 2m, 10m, 30m, 1h, 3h, 6h, 12h, then every 12h, ±20 %; fails when it is 3d old"),
        ("'steps'", "after 5s, 30s, 2m; fails after 4 attempts"),
        ("'doubling'", "after 1s, 2s, 4s, 8s, 16s; fails after 6 attempts"),
        (
            "{ base: '1s', max: '4s', attempts: 9, jitter: 0 }",
            "after 1s, 2s, 4s, then every 4s; fails after 9 attempts"
        ),
        (
            "{ base: '1s', max: '1d', maxAge: '7d', jitter: 0 }",
            "after 1s, 2s, 4s, 8s, 16s, 32s, 1m4s, 2m8s, …; fails when it is 7d old"
        ),
        (
            "{ preset: 'standard', attempts: 1, maxAge: null, jitter: 0 }",
            "no further attempt; fails after 1 attempt"
        ),
        (
            "{ base: '5s', multiplier: 1, max: '5s', maxAge: '1h', jitter: 0 }",
            "after 5s, then every 5s; fails when it is 1h old"
        ),
        (
            "{ preset: 'standard', jitter: 0 }, expiresAfter: '3s'",
            "no further attempt; fails unsent when it is 3s old"
        ),
        (
            "{ preset: 'standard', jitter: 0 }, expiresAfter: '10m'",
            "after 30s, 2m; fails unsent when it is 10m old"
        ),
    ])
    func `a schedule is described in words`(schedule: String, expected: String) throws {
        let route = try configured("{ routes: { default: { retry: \(schedule) } } }").defaultRoute
        #expect(ScheduleView(route.bounds(isRateLimited: false)).text == expected)
    }

    @Test(arguments: [
        ("503", "after 3 such failures in a row its circuit breaker opens for 1s, each time twice as long, up to 1h"),
        ("503", "a Retry-After delays all its operations until then, at most 1d; then no attempt is counted"),
        ("429", "a Retry-After delays all its operations until then, at most 1d; then no attempt is counted"),
        ("500", "a Retry-After delays all its operations until then, at most 1d"),
        (
            "refused",
            "after 3 such failures in a row its circuit breaker opens for 1s, each time twice as long, up to 1h"
        ),
        ("proxy", "it is not to blame: its state stays the same"),
        ("401", "before that, the run reads its secrets again, once"),
        (
            "401",
            "if another operation is refused too, it is held until its credentials or configuration change, until a probe is delivered (every 30m), or until 'drainq release --destination https://h'"
        ),
        (
            "404",
            "if 7 answers in a row are 404, in one run or in several, the storm guard samples a few other operations, if any; unless one gets a different answer, the destination is held and no more operations fail"
        ),
    ])
    func `the sentences about the destination follow its settings`(answer: String, sentence: String) throws {
        let explanation = try explanation(
            answer,
            """
            { routes: { default: { url: "https://h", headers: { A: "${secret:a}" } } }, secrets: { a: { env: "A" } },
              destinations: { "https://h": { circuitBreaker: 3, coolDown: "1h", holdProbe: "30m",
                                             stormGuard: 7 } } }
            """)
        #expect(explanation.destination.contains(sentence), "\(explanation.destination)")
    }

    @Test func `protections that are turned off are not mentioned`() throws {
        let text = """
            { routes: { default: { url: "https://h" } },
              destinations: { "https://h": { circuitBreaker: 0, holdProbe: null, stormGuard: 0 } } }
            """
        #expect(try explanation("refused", text).destination == [])
        #expect(try explanation("404", text).destination == [])
        #expect(try explanation("401", text).destination.first?.contains("probe") == false)
    }

    @Test(arguments: [
        (
            "", Transport.allCases,
            "libcurl: auto takes it first on Linux: it keeps connections, takes less processor time and has all features"
        ),
        ("", [Transport]([.urlsession]), "urlsession: libcurl cannot be used here"),
        ("transport: 'urlsession'", Transport.allCases, "urlsession: transport is 'urlsession'"),
        ("unixSocket: '/s'", Transport.allCases, "libcurl: unixSocket is configured"),
        ("transport: 'libcurl'", Transport.allCases, "libcurl: transport is 'libcurl'"),
        (
            "transport: 'libcurl'", [Transport]([.urlsession]),
            "none: 'transport' is 'libcurl', which is not installed here: install libcurl, or set it to 'auto'"
        ),
    ])
    func `an explanation gives the reason for the transport`(settings: String, available: [Transport], expected: String)
        throws
    {
        let text = "{ routes: { default: { url: 'https://h' } }, destinations: { 'https://h': { \(settings) } } }"
        #expect(try explained(text, available: available).transportText == expected)
    }

    @Test func `the table has every status once, and errors with their outcomes`() throws {
        let table = AnswerTable(
            of: try explained(
                "{ routes: { default: { url: 'https://h', classify: { '404': 'defer', tls: 'fail' } } } }"))
        var next = 100
        for row in table.answers.filter({ $0.answers.first?.isNumber == true }) {
            let ends = row.answers.split(separator: "-").compactMap { Int($0) }
            #expect(ends.first == next)
            next = try #require(ends.last) + 1
        }
        #expect(next == 600)
        #expect(
            table.answers.contains {
                $0.answers == "404" && $0.outcome == "deferred" && $0.rule == "classify \"404\": defer"
            })
        #expect(
            table.answers.contains { $0.answers == "502-504" || $0.answers == "502-599" || $0.answers == "506-599" })
        #expect(table.answers.contains { $0.answers == "tls" && $0.outcome == "failed" })
        #expect(!table.answers.contains { $0.answers == "UNAVAILABLE" })
        #expect(table.lines.contains("  own rules   classify \"404\": defer, classify \"tls\": fail"))
        #expect(table.lines.allSatisfy { $0.count <= 80 })
    }

    // MARK: - Rules

    private static let postgrest = """
        { routes: { default: { url: 'https://h', classify: { '404': 'defer' }, answers: [
          { status: 409, json: { pointer: '/code', equals: '23505' }, is: 'deliver' },
          { status: 409, is: 'hold' },
          { status: 403, header: { 'x-left': '0' }, is: 'defer', until: 'x-reset' },
        ] } } }
        """

    @Test func `the deciding rule has its line`() throws {
        let held = try explanation("409", Self.postgrest)
        #expect(held.rule == "answers[1]: status 409: hold" && held.written == "drainq.json:3")
        #expect(held.unless?.map(\.text) == ["answers[0]: status 409, /code equals \"23505\": deliver (drainq.json:2)"])
        let deferred = try explanation("404", Self.postgrest)
        #expect(deferred.written == "drainq.json:1" && deferred.unless == nil)
        let forbidden = try explanation("403", Self.postgrest)
        #expect(forbidden.written == nil && forbidden.unless?.count == 1)
        #expect(
            forbidden.lines.contains("  unless      answers[2]: status 403, header x-left is '0': defer until x-reset"))
        #expect(try explanation("timeout", Self.postgrest).unless == nil)
        let table = AnswerTable(of: try explained(Self.postgrest))
        #expect(table.rules?.count == 3)
        #expect(table.lines.contains("  first       answers[0]: status 409, /code equals \"23505\": deliver"))
    }

    private func recorded(
        _ status: Int, _ headers: KeyValuePairs<String, String>, _ body: String, _ text: String
    ) throws -> Explanation {
        let answer = AttemptReport.Answer(
            status: status, headers: headers.map { HeaderField(name: $0.key, value: $0.value) }, body: Array(body.utf8))
        return Explanation(answer, on: try explained(text), now: Timestamp(rfc3339: "2026-11-21T09:15:00Z")!)
    }

    @Test func `a recorded answer is judged with its header and body`() throws {
        let delivered = try recorded(409, [:], #"{"code":"23505"}"#, Self.postgrest)
        #expect(delivered.outcome == "delivered" && delivered.written == "drainq.json:2" && delivered.unless == nil)
        let limited = try recorded(403, ["X-Left": "0", "X-Reset": "1795252530"], "", Self.postgrest)
        #expect(limited.outcome == "deferred" && !limited.countsAttempt)
        #expect(limited.destination == ["runs send nothing to it for 30s, as the answer asks"])
        let portal = try recorded(
            200, ["Content-Type": "text/html"], "<html>",
            "{ routes: { default: { url: 'https://h', accept: { contentType: 'a/b' } } } }")
        #expect(portal.outcome == "deferred" && portal.provided == nil && portal.written == "drainq.json:1")
        #expect(portal.rule == "accept: content type is 'text/html', not 'a/b': defers")
    }

    @Test func `a recorded answer to a batch is judged for each of its operations`() throws {
        let text = """
            { routes: { default: { url: 'https://h', batch: { max: 9, results: { pointer: '/r', status: '/s' } } } } }
            """
        let explained = try recorded(200, [:], #"{"r":[{"s":201},{"s":422}]}"#, text)
        #expect(explained.members?.map(\.outcome) == ["delivered", "failed"])
        #expect(
            explained.lines.contains("  operations  1. delivered: batch results: status 201: default 200-299 delivers"))
        #expect(try recorded(500, [:], "", text).members == nil)
    }
}
