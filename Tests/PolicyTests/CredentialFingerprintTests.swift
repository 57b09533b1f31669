import Testing

@testable import Policy

struct CredentialFingerprintTests {
    static let route = Route(
        url: "https://a.example/v1", headers: [HeaderField(name: "Authorization", value: "Bearer ${secret:api}")])
    static let sources: [String: SecretSource] = ["api": .file("/etc/token"), "proxy": .environment("PROXY")]

    private func fingerprint(
        _ route: Route = Self.route, type: TypeName? = nil, _ settings: DestinationSettings = DestinationSettings(),
        sources: [String: SecretSource] = Self.sources, values: [String: String] = ["api": "secret", "proxy": "p"],
        key: String = "salt"
    ) -> [Substring] {
        let lead = DestinationTable.Lead(type: type, route: route)
        let fingerprint = CredentialFingerprint(of: [lead], settings, sources: sources, values: values, key: key)
        return fingerprint.description.split(separator: "-")
    }

    @Test func `a fingerprint has twice five digits and is deterministic`() {
        #expect(fingerprint().map(\.utf8.count) == [5, 5])
        #expect(fingerprint() == fingerprint())
        #expect(fingerprint().joined().allSatisfy { $0.isHexDigit && !$0.isUppercase })
        // Constant: a change of this text ends every existing hold.
        #expect(fingerprint(Route(), sources: [:], values: [:]).last == "f6806")
    }

    @Test(arguments: [["api": "secreT", "proxy": "p"], ["api": "secret"], ["api": "secret", "proxy": ""], [:]])
    func `a changed credential changes only the credentials' part`(values: [String: String]) {
        #expect(fingerprint(values: values)[0] == fingerprint()[0])
        #expect(fingerprint(values: values)[1] != fingerprint()[1])
    }

    @Test func `the reason for which a file cannot be used counts as long as it has no value`() {
        func digits(_ values: [String: String], _ failures: [String: String]) -> String {
            let lead = DestinationTable.Lead(type: nil, route: Self.route)
            return CredentialFingerprint(
                of: [lead], DestinationSettings(), sources: Self.sources, values: values, failures: failures, key: "k"
            ).description
        }
        #expect(digits([:], ["api": "is not there"]) != digits([:], ["api": "has mode 0644"]))
        #expect(digits(["api": "x"], ["api": "is not there"]) == digits(["api": "x"], [:]))
    }

    @Test func `a value does not count for a different secret`() {
        #expect(
            fingerprint(values: ["api": "xp", "proxy": ""])[1] != fingerprint(values: ["api": "x", "proxy": "p"])[1])
        #expect(fingerprint(values: ["api": "", "proxy": "x"])[1] != fingerprint(values: ["proxy": "x"])[1])
    }

    @Test func `a value without a source does not count`() {
        #expect(fingerprint(values: ["api": "secret", "proxy": "p", "other": "o"]) == fingerprint())
    }

    @Test func `a command's changing token does not change the fingerprint`() {
        let sources: [String: SecretSource] = ["api": .command(["get-token"], ttl: .seconds(60))]
        #expect(
            fingerprint(sources: sources, values: ["api": "1"]) == fingerprint(sources: sources, values: ["api": "2"]))
        let other: [String: SecretSource] = ["api": .command(["get-other"], ttl: .seconds(60))]
        #expect(
            fingerprint(sources: other, values: ["api": "1"])[0]
                != fingerprint(sources: sources, values: ["api": "1"])[0])
    }

    @Test func `a different key changes both parts`() {
        #expect(fingerprint(key: "other")[0] != fingerprint()[0])
        #expect(fingerprint(key: "other")[1] != fingerprint()[1])
    }

    static let changes: [(String, @Sendable (inout Route) -> Void)] = [
        ("url", { $0.url = "https://a.example/v2" }), ("method", { $0.method = "PUT" }),
        ("headers", { $0.headers[0].value = "Basic ${secret:api}" }), ("protocol", { $0.protocol = .callable }),
        ("destination", { $0.destination = "office" }), ("redirects", { $0.redirects = .sameOrigin }),
        ("body", { $0.body = "{payload}" }), ("headersCommand", { $0.headersCommand = ["sign"] }),
        ("answers", { $0.answers = [AnswerRule(.answers(0), .statuses([403...403]), .failed)] }),
        ("accept", { $0.accept = AnswerRule.accept(contentType: "application/json") }),
        ("accept's outcome", { $0.accept = AnswerRule.accept(otherwise: .held) }),
        ("classify", { $0.classify = [AnswerRule.classify(.statuses(403...403), outcome: .failed)] }),
        ("overrides", { $0.overrides = [.url] }),
    ]

    @Test(arguments: changes.indices)
    func `a setting that can lead to a hold changes only the configuration's part`(index: Int) {
        var route = Self.route
        Self.changes[index].1(&route)
        #expect(fingerprint(route)[0] != fingerprint()[0], "\(Self.changes[index].0)")
        #expect(fingerprint(route)[1] == fingerprint()[1])
    }

    @Test func `the connection, the source of a secret and the type change the configuration's part`() {
        let proxied = DestinationSettings(connection: ConnectionOptions(proxy: .url("http://p:1")))
        #expect(fingerprint(Self.route, proxied)[0] != fingerprint()[0])
        #expect(fingerprint(Self.route, DestinationSettings(transport: .libcurl))[0] != fingerprint()[0])
        var moved = Self.sources
        moved["api"] = .file("/etc/other")
        #expect(fingerprint(sources: moved)[0] != fingerprint()[0])
        #expect(fingerprint(Self.route, type: TypeName("crm"))[0] != fingerprint()[0])
    }

    @Test func `schedules, limits and pace do not change the fingerprint`() {
        var route = Self.route
        route.retry = BackoffSchedule(delays: .list([.seconds(1)]))
        route.timeouts = Timeouts(total: .seconds(1))
        route.ordering = .strict
        route.batch = Batch(max: 2)
        route.answerLimit = 1
        #expect(fingerprint(route, DestinationSettings(concurrency: 1, holdProbe: nil)) == fingerprint())
    }
}
