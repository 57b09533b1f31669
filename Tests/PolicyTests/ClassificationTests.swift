import Testing

@testable import Policy

struct ClassificationTests {
    private let now = Timestamp(rfc3339: "2026-11-21T09:15:00Z")!

    private func answer(_ status: Int, _ route: Route = Route(), _ headers: [HeaderField] = []) -> Verdict {
        let report = SealedReport(result: .answer(.init(status: status, headers: headers)), duration: .seconds(1))
        return Classification.verdict(on: report, route: route, now: now)
    }

    private func failure(_ error: NetworkError, _ route: Route = Route()) -> Verdict {
        let report = SealedReport(result: .failure(error, detail: ""), duration: .seconds(1))
        return Classification.verdict(on: report, route: route, now: now)
    }

    private func overriding(_ lines: KeyValuePairs<String, Outcome>) -> Route {
        Route(classify: lines.map { AnswerRule.classify(.init($0.key)!, outcome: $0.value) })
    }

    /// Repeats the table: a change to either copy fails the test.
    @Test func `every status from 100 to 599 has its outcome`() {
        let held: Set = [401, 403, 407]
        let deferred: Set = [408, 409, 421, 423, 425, 429]
        for status in 100...599 {
            let expected: Outcome =
                switch status {
                case 100..<200: .deferred
                case 200..<300: .delivered
                case 300..<400: .held
                case 400..<500: held.contains(status) ? .held : deferred.contains(status) ? .deferred : .failed
                default: status == 501 || status == 505 ? .failed : .deferred
                }
            #expect(answer(status).outcome == expected, "\(status)")
        }
        #expect(answer(0).outcome == .deferred)
        #expect(answer(999).outcome == .deferred)
    }

    @Test(arguments: NetworkError.allCases)
    func `every network error has its outcome`(error: NetworkError) {
        let expected: Outcome =
            switch error {
            case .tls: .held
            case .badURL, .bodyFileChanged: .failed
            case .dns, .refused, .unreachable, .connectTimeout, .timeout, .deadline, .reset, .emptyAnswer, .truncated,
                .malformedAnswer, .proxy, .offline, .machine, .shortage, .agentDied, .cancelled, .other:
                .deferred
            }
        #expect(failure(error).outcome == expected)
        #expect(failure(error).rule.description == "error \(error.rawValue): default \(expected.verb)s")
        #expect(AnswerPattern(error.rawValue) == (error == .cancelled ? nil : .error(error)))
    }

    @Test func `only errors before sending prove the request unsent`() {
        let proofs = NetworkError.allCases.filter(\.provesNotSent)
        #expect(
            Set(proofs) == [
                .dns, .refused, .badURL, .offline, .unreachable, .connectTimeout, .proxy, .machine, .shortage,
            ])
    }

    @Test(arguments: [
        (503, "status 503: default 500-599 defers"), (501, "status 501: default 501 fails"),
        (401, "status 401: default 401 holds"), (204, "status 204: default 200-299 delivers"),
        (302, "status 302: default 300-399 holds"), (418, "status 418: default 400-499 fails"),
        (600, "status 600: default 600 defers"),
    ])
    func `a verdict describes its deciding rule`(status: Int, text: String) {
        #expect(answer(status).rule.description == text)
    }

    @Test func `the most specific override wins, and the last wins among equals`() {
        let route = overriding([
            "404": .deferred, "400-499": .held, "400-409": .delivered, "410-419": .deferred, "500": .failed,
            "500-500": .held,
        ])
        #expect(answer(404, route).outcome == .deferred)
        #expect(answer(404, route).rule.match?.rule == route.classify[0])
        #expect(answer(404, route).rule.description == "classify \"404\": defer")
        #expect(answer(409, route).outcome == .delivered)
        #expect(answer(409, route).rule.description == "classify \"400-409\": deliver")
        #expect(answer(411, route).outcome == .deferred)
        #expect(answer(499, route).outcome == .held)
        #expect(answer(500, route).outcome == .held)
        #expect(answer(502, route).outcome == .deferred)
    }

    @Test func `an override applies to a network error, but not to a cancelled attempt`() {
        let route = overriding(["tls": .failed, "tls": .deferred, "200-299": .held])
        #expect(failure(.tls, route).outcome == .deferred)
        #expect(failure(.tls, route).rule.description == "classify \"tls\": defer")
        let stubborn = Route(classify: [AnswerRule.classify(.error(.cancelled), outcome: .failed)])
        #expect(failure(.cancelled, stubborn).outcome == .deferred)
    }

    @Test(arguments: [
        "", "4", "04040", "99", "600", "500-499", "-404", "404-", "400-499-500", "+40", "6xx", "0xx", "4x", "xx4",
        "4xxx",
        "4xx-5xx", "TLS", "0-999",
    ])
    func `a malformed pattern is no override`(text: String) {
        #expect(AnswerPattern(text) == nil)
    }

    @Test func `a class of statuses is the range of its statuses`() {
        #expect(AnswerPattern("4xx") == .statuses(400...499))
        #expect(AnswerPattern("2XX") == .statuses(200...299))
    }

    @Test func `the outcomes have the verbs of the configuration`() {
        #expect(Outcome.allCases.map(\.verb) == ["deliver", "defer", "hold", "fail"])
    }

    @Test func `a verdict carries the server's retry-after`() {
        let asking = [HeaderField(name: "retry-after", value: "30")]
        #expect(answer(429, Route(), asking).retryAfter == .seconds(30))
        #expect(answer(503).retryAfter == nil)
        let report = SealedReport(
            result: .answer(.init(status: 429, headers: [HeaderField(name: "Retry-After", value: "999999")])),
            duration: .zero)
        let capped = Classification.verdict(on: report, route: Route(), now: now)
        #expect(capped.retryAfter == RetryAfter.longest)
        #expect(capped.isRateLimited)
        #expect(!answer(503).isRateLimited)
    }
}
