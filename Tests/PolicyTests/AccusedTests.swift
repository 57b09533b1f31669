import Testing

@testable import Policy

struct AccusedTests {
    @Test func `an attempt whose request the server cannot have read does not count`() {
        let report = AttemptReport(result: .failure(.malformedAnswer, detail: ""), duration: .zero, isUnread: true)
        let verdict = Classification.verdict(
            on: SealedReport(report, .none), route: Route(), now: Timestamp(microseconds: 0))
        #expect(verdict.outcome == .deferred && !verdict.countsAttempt && verdict.accused() == .destination)
    }

    private static let route = Route(url: "http://one/")

    private static func verdict(_ answer: String, on route: Route = route) -> Verdict {
        switch AnswerPattern(answer) {
        case .statuses(let range)?: Classification.verdict(onStatus: range.lowerBound, route: route)
        case .error(let error)?: Classification.verdict(on: error, route: route)
        case .canonical?, nil: fatalError(answer)
        }
    }

    @Test(
        arguments: [
            (nil, "200 204"),
            (.network, "offline proxy"),
            (.agent, "agent-died"),
            (
                .destination,
                "dns refused unreachable connect-timeout timeout deadline reset empty-answer truncated malformed-answer "
                    + "tls other 500 502 503 429 408 302"
            ),
            (.credentials, "401 403 407"),
            (.operation, "400 404 410 422 501 body-file bad-url"),
        ] as [(Accused?, String)])
    func `each answer and each error has its accused`(accused: Accused?, answers: String) {
        for answer in answers.split(separator: " ") {
            #expect(Self.verdict(String(answer)).accused() == accused, "\(answer)")
        }
    }

    @Test func `the configured outcome of a status decides the accused`() {
        var route = Self.route
        func classify(_ outcome: Outcome) -> Accused? {
            route.classify = [.classify(.statuses(403...403), outcome: outcome)]
            return Self.verdict("403", on: route).accused()
        }
        #expect(classify(.deferred) == .destination)
        #expect(classify(.failed) == .operation)
        #expect(classify(.held) == .credentials)
        #expect(classify(.delivered) == nil)
    }

    @Test func `a permanent refusal of a batch accuses the batch, not an operation`() {
        #expect(Self.verdict("400").accused(members: 2) == .batch)
        #expect(Self.verdict("503").accused(members: 2) == .destination)
        // A batch is split, whatever answer the route fails.
        var route = Self.route
        route.classify = [.classify(.error(.timeout), outcome: .failed)]
        #expect(Self.verdict("timeout", on: route).accused(members: 2) == .batch)
        #expect(Self.verdict("timeout", on: route).accused() == .destination)
    }

    @Test func `an error of the network or this machine does not count an attempt`() {
        for error in NetworkError.allCases {
            let verdict = Classification.verdict(on: error, route: Self.route)
            if verdict.accused() == .network || verdict.accused() == .machine { #expect(!verdict.countsAttempt) }
        }
    }

    // MARK: - No network

    private static let there = NetworkState()
    private static let alone = NetworkState(
        hasInterface: false, hasRoute: false, hasDefaultRoute: false, hasResolver: true)
    private static let unrouted = NetworkState(hasRoute: false, hasDefaultRoute: false)
    private static let subnet = NetworkState(hasDefaultRoute: false)
    private static let nameless = NetworkState(hasResolver: false)

    @Test(
        arguments: [
            (there, .dns, nil), (there, .offline, nil),
            (alone, .dns, .noInterface), (alone, .refused, .noInterface), (alone, .timeout, .noInterface),
            (alone, .tls, nil), (alone, .cancelled, nil), (alone, .agentDied, nil), (alone, .bodyFileChanged, nil),
            (unrouted, .unreachable, .noRoute), (unrouted, .proxy, .noRoute),
            (subnet, .dns, .noRoute), (subnet, .offline, .noRoute), (subnet, .unreachable, nil),
            (subnet, .connectTimeout, nil), (subnet, .refused, nil),
            (nameless, .dns, .noResolver), (nameless, .refused, nil),
        ] as [(NetworkState, NetworkError, NetworkAbsence?)])
    func `a missing interface, route or resolver explains an error`(
        state: NetworkState, error: NetworkError, absence: NetworkAbsence?
    ) {
        #expect(state.absence(behind: error) == absence)
    }

    @Test(arguments: NetworkError.allCases)
    func `without a network, no error counts an attempt, whatever the route configures`(error: NetworkError) {
        var route = Self.route
        route.classify = [.classify(.error(error), outcome: .failed)].filter { _ in error != .offline }
        let verdict = Classification.verdict(on: error, route: route).excused(by: .noRoute, route: route)
        #expect(verdict.outcome == .deferred && !verdict.countsAttempt && verdict.accused() == .network)
        #expect(verdict.isUntouched == (error.provesNotSent || error == .offline))
        #expect(
            verdict.rule.description
                == "error \(error.rawValue): this machine has no network: there is no route out: defers")
    }

    @Test func `a route may configure the outcome of being offline`() {
        var route = Self.route
        route.classify = [.classify(.error(.offline), outcome: .failed)]
        let verdict = Classification.verdict(on: .dns, route: route).excused(by: .noRoute, route: route)
        #expect(verdict.outcome == .failed && !verdict.countsAttempt && !verdict.isUntouched)
    }

    @Test(arguments: [
        ("http://127.0.0.1:8080", true), ("http://localhost", true), ("http://[::1]:80", true),
        ("http://a.localhost", true), ("https://api.example.com", false), ("http://10.0.0.1", false),
    ])
    func `loopback needs no network`(name: String, isLocal: Bool) {
        let destination = Destination(named: name)
        let settings = DestinationSettings()
        #expect(destination.isReachedLocally(settings) == isLocal && destination.isLocal(settings) == isLocal)
    }

    @Test(arguments: [
        ("http://127.0.0.1:3128", true), ("socks5h://user:${secret:p}@localhost:1080", true),
        ("http://proxy.example.com:3128", false), ("nonsense", false),
    ])
    func `a destination behind a proxy is reached locally only if the proxy is local`(proxy: String, isLocal: Bool) {
        let settings = DestinationSettings(connection: ConnectionOptions(proxy: .url(proxy)))
        #expect(Destination(named: "https://api.example.com").isReachedLocally(settings) == isLocal)
        #expect(Destination(named: "http://127.0.0.1").isReachedLocally(settings) == isLocal)
        #expect(!Destination(named: "https://api.example.com").isLocal(settings))
    }
}
