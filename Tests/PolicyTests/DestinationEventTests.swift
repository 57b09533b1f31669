import Testing

@testable import Policy

struct DestinationEventTests {
    private let now = Timestamp(rfc3339: "2026-11-21T09:15:00Z")!
    private let began = Timestamp(rfc3339: "2026-11-21T09:14:59Z")!

    private func report(_ status: Int, _ retryAfter: String? = nil, _ body: String = "") -> SealedReport {
        let headers = retryAfter.map { [HeaderField(name: "Retry-After", value: $0)] } ?? []
        return SealedReport(
            result: .answer(.init(status: status, headers: headers, body: Array(body.utf8))), duration: .zero)
    }

    private func failure(_ error: NetworkError) -> SealedReport {
        SealedReport(result: .failure(error, detail: ""), duration: .zero)
    }

    private func events(
        _ report: SealedReport, _ route: Route = Route(retry: .steps, retryRateLimited: .rateLimit)
    ) -> [DestinationEvent] {
        let verdict = Classification.verdict(on: report, route: route, now: now)
        return DestinationEvent.events(
            of: report, verdict, route: route, blamed: "print", began: began, now: now)
    }

    private func guardAnswer(_ report: SealedReport, _ route: Route = Route()) -> StormGuard<Int>.Answer? {
        StormGuard<Int>.Answer(Classification.verdict(on: report, route: route, now: now))
    }

    @Test func `a success with a limit rule yields a retry-after by a time or by a cost and a restore rate`() {
        func rule(_ until: AnswerLimit) -> Route {
            var route = Route()
            route.answers = [AnswerRule(.answers(0), .statuses([200...299]), .delivered, until: until)]
            return route
        }
        func place(_ text: String) -> AnswerPlace { .pointer(JSONPointer(text)!) }
        #expect(
            events(report(200, "20"), rule(.time(.header("retry-after"))))
                == [.delivered(began: began), .retryAfter(until: now + .seconds(20))])
        #expect(events(report(200, "0"), rule(.time(.header("retry-after")))) == [.delivered(began: began)])
        // Without a limit rule, a success asks for no time.
        #expect(events(report(200, "20")) == [.delivered(began: began)])
        let restored = rule(.restored(cost: place("/c"), left: place("/a"), rate: place("/r")))
        for (body, wait) in [
            (#"{"c":101,"a":1,"r":50}"#, 2.0), (#"{"c":101,"a":"0","r":2.5}"#, 40.4), (#"{"c":10,"a":10,"r":1}"#, nil),
            (#"{"c":10,"a":1,"r":0}"#, nil), (#"{"c":10,"r":1}"#, nil), (#"{"c":10,"a":null,"r":1}"#, nil),
            (#"{"c":1e300,"a":0,"r":1}"#, RetryAfter.longest / .seconds(1)),
        ] {
            let expected: [DestinationEvent] =
                [.delivered(began: began)] + (wait.map { [.retryAfter(until: now + .seconds($0))] } ?? [])
            #expect(events(report(200, nil, body), restored) == expected, "\(body)")
        }
    }

    @Test func `every status yields its destination events and its storm guard answer`() {
        for status in 0...999 {
            let outcome = Classification.verdict(onStatus: status, route: Route()).outcome
            let rule = Classification.verdict(onStatus: status, route: Route()).rule.description
            let expected: [DestinationEvent] =
                switch status {
                case 200...299: [.delivered(began: began)]
                case _ where outcome == .held: [.answered, .held(reason: rule, blamed: "print", began: began)]
                case 429: [.answered, .retryAfter(until: now + .seconds(5))]
                case 502, 503, 504: [.unreachable("\(status)")]
                default: [.answered]
                }
            #expect(events(report(status)) == expected, "\(status)")
            let told: StormGuard<Int>.Answer =
                switch outcome {
                case .delivered: .delivered
                case .held, .failed: .permanent(status)
                case .deferred: .other
                }
            #expect(guardAnswer(report(status)) == told, "\(status)")
        }
    }

    @Test(arguments: NetworkError.allCases)
    func `every network error yields its destination events`(error: NetworkError) {
        let expected: [DestinationEvent] =
            switch error {
            case .dns, .refused, .unreachable, .connectTimeout, .timeout, .deadline, .reset, .emptyAnswer, .truncated,
                .malformedAnswer, .agentDied, .other:
                [.unreachable(error.rawValue)]
            case .tls: [.held(reason: "error tls: default holds", blamed: "print", began: began)]
            case .offline, .proxy, .machine, .shortage, .badURL, .bodyFileChanged, .cancelled: []
            }
        #expect(events(failure(error)) == expected)
        #expect(guardAnswer(failure(error)) == nil)
    }

    @Test func `a broken stream is an event beside those of the attempt's end`() {
        let failure = AttemptReport(result: .failure(.reset, detail: ""), duration: .zero, hasBrokenStream: true)
        #expect(events(SealedReport(failure, .none)) == [.brokeStream, .unreachable("reset")])
        let answer = AttemptReport(result: .answer(.init(status: 204)), duration: .zero, hasBrokenStream: true)
        #expect(events(SealedReport(answer, .none)) == [.brokeStream, .delivered(began: began)])
    }

    @Test func `the reason of a hold includes the detail of the network error`() {
        let report = SealedReport(
            result: .failure(.tls, detail: "certificate has\nexpired"), duration: .zero)
        #expect(
            events(report) == [
                .held(reason: "error tls: default holds: certificate has expired", blamed: "print", began: began)
            ])
    }

    @Test(
        arguments: [
            (429, "100", 100), (503, "100", 100), (503, "999999", 86_400), (429, "999999", 86_400), (429, "0", 5),
            (429, "nonsense", 5), (500, "100", 100), (408, "7", 7),
        ] as [(Int, String, Int)])
    func `a server's retry-after counts, up to a day`(status: Int, value: String, seconds: Int) {
        #expect(
            events(report(status, value)) == [.answered, .retryAfter(until: now + .seconds(seconds))])
    }

    @Test func `a retry-after counts only if longer than zero and on a deferring answer`() {
        #expect(events(report(503, "0")) == [.unreachable("503")])
        #expect(events(report(404, "100")) == [.answered])
        #expect(events(report(502, "0")) == [.unreachable("502")])
    }

    @Test func `a 429 without its own schedule waits for the first delay of the usual schedule`() {
        #expect(events(report(429), Route(retry: .standard)) == [.answered, .retryAfter(until: now + .seconds(30))])
    }

    @Test func `a route's configuration precedes the defaults`() {
        let route = Route(classify: [
            AnswerRule.classify(.statuses(503...503), outcome: .failed),
            AnswerRule.classify(.statuses(504...504), outcome: .held),
            AnswerRule.classify(.statuses(404...404), outcome: .delivered),
            AnswerRule.classify(.error(.tls), outcome: .deferred),
            AnswerRule.classify(.error(.proxy), outcome: .held),
            AnswerRule.classify(.error(.timeout), outcome: .delivered),
        ])
        #expect(events(report(503), route) == [.answered])
        #expect(
            events(report(504), route) == [
                .answered, .held(reason: "classify \"504\": hold", blamed: "print", began: began),
            ])
        #expect(events(report(404), route) == [.delivered(began: began)])
        #expect(events(failure(.tls), route) == [.unreachable("tls")])
        #expect(
            events(failure(.proxy), route) == [.held(reason: "classify \"proxy\": hold", blamed: "print", began: began)]
        )
        #expect(events(failure(.timeout), route) == [.delivered(began: began)])
        #expect(guardAnswer(report(503), route) == .other)
        #expect(guardAnswer(report(504), route) == .permanent(504))
        #expect(guardAnswer(failure(.timeout), route) == .delivered)
        #expect(guardAnswer(failure(.proxy), route) == nil)
    }

    @Test func `a page from a foreign server counts as an unreachable destination`() {
        let portal = Route(accept: AnswerRule.accept(contentType: "application/json"))
        #expect(events(report(200), portal) == [.unreachable("not accepted")])
        let condition = JSONCondition(pointer: JSONPointer(tokens: ["ok"]), test: .equals(.bool(true)))
        let checked = Route(accept: AnswerRule.accept(json: [condition]))
        #expect(events(report(200, nil, "<html>"), checked) == [.unreachable("not accepted")])
        #expect(events(report(200, nil, "{}"), checked) == [.answered])
        let failing = Route(accept: AnswerRule.accept(json: [condition], otherwise: .failed))
        #expect(events(report(200, nil, "<html>"), failing) == [.answered])
        #expect(guardAnswer(report(200, nil, "{}"), failing) == .permanent(200))
    }

    @Test func `a callable function's canonical status yields its destination events`() {
        let route = Route(protocol: .callable, retry: .steps, retryRateLimited: .rateLimit)
        func said(_ word: String, _ status: Int, _ retryAfter: String? = nil) -> [DestinationEvent] {
            events(report(status, retryAfter, #"{"error":{"status":"\#(word)"}}"#), route)
        }
        #expect(said("RESOURCE_EXHAUSTED", 200) == [.answered, .retryAfter(until: now + .seconds(5))])
        #expect(said("RESOURCE_EXHAUSTED", 429, "9") == [.answered, .retryAfter(until: now + .seconds(9))])
        #expect(said("UNAVAILABLE", 503) == [.unreachable("UNAVAILABLE")])
        #expect(said("DEADLINE_EXCEEDED", 504) == [.answered])
        #expect(said("INVALID_ARGUMENT", 400) == [.answered])
        #expect(
            said("UNAUTHENTICATED", 401)
                == [
                    .answered,
                    .held(
                        reason: #"callable UNAUTHENTICATED: default holds: {"error":{"status":"UNAUTHENTICATED"}}"#,
                        blamed: "print", began: began),
                ])
    }
}
