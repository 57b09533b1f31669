import Testing

@testable import Configuration
@testable import Policy

struct `The table of configuration keys` {
    @Test func `the example of every key can be read and differs from the default`() throws {
        try readExamples(of: ConfigurationKeys.file, into: Configuration())
        try readExamples(of: ConfigurationKeys.route, into: Route())
        try readExamples(of: ConfigurationKeys.destination, into: DestinationSettings())
        try readExamples(of: ConfigurationKeys.accept, into: AnswerRule.accept())
        try readExamples(of: ConfigurationKeys.answer, into: AnswerDraft(outcome: .failed))
        try readExamples(of: ConfigurationKeys.batch, into: Batch(max: 7))
        try readExamples(of: ConfigurationKeys.schedule, into: ScheduleDraft())
    }

    private func readExamples<Draft: Equatable>(of keys: [ConfigurationKey<Draft>], into draft: Draft) throws {
        // Only editors read $schema.
        for key in keys where key.entry.path != "$schema" {
            guard let text = key.entry.exampleText else { continue }
            var findings = ConfigurationFindings(directory: "/")
            var changed = draft
            key.read(try JSON5Parser.value(of: Array(text.utf8)), &changed, &findings)
            #expect(findings.errors.isEmpty, "\(key.entry.path)")
            if text != key.entry.defaultText { #expect(changed != draft, "\(key.entry.path)") }
        }
    }

    @Test func `null for a key without a default is the same as a missing key`() throws {
        try leaveOut(ConfigurationKeys.file, of: Configuration())
        try leaveOut(ConfigurationKeys.route, of: Route())
        try leaveOut(ConfigurationKeys.destination, of: DestinationSettings())
        try leaveOut(ConfigurationKeys.accept, of: AnswerRule.accept())
        try leaveOut(ConfigurationKeys.answer, of: AnswerDraft())
        try leaveOut(ConfigurationKeys.batch, of: Batch(max: 7))
        try leaveOut(ConfigurationKeys.results, of: ResultsDraft())
        // null is a value of these keys.
        try leaveOut(ConfigurationKeys.condition.filter { $0.entry.path != "equals" }, of: ConditionDraft())
        let own = ["attempts", "maxAge"]
        try leaveOut(ConfigurationKeys.schedule.filter { !own.contains($0.entry.path) }, of: ScheduleDraft())
    }

    private func leaveOut<Draft: Equatable>(_ keys: [ConfigurationKey<Draft>], of draft: Draft) throws {
        let paths = keys.filter { $0.entry.defaultText == nil }.map(\.entry.path)
        let groups = keys.map(\.entry.path).compactMap { path in path.lastIndex(of: ".").map { String(path[..<$0]) } }
        let required = keys.filter(\.entry.isRequired).map(\.entry)
        for path in paths + groups where !required.map(\.path).contains(path) {
            var value = "null"
            let names = path.split(separator: ".")
            for name in names.dropFirst().reversed() { value = "{ \(name): \(value) }" }
            let others = required.map { ", \($0.path): \($0.exampleText ?? "")" }.joined()
            let (nulled, lacking) = ("{ \(names[0]): \(value)\(others) }", "{ \(others.dropFirst(2)) }")
            let drafts = try [nulled, lacking].map { text in
                var findings = ConfigurationFindings(directory: "/")
                var changed = draft
                readObject(try JSON5Parser.value(of: Array(text.utf8)), by: keys, into: &changed, &findings)
                #expect(findings.errors.isEmpty, "\(text)")
                return changed
            }
            #expect(drafts[0] == drafts[1], "\(path)")
        }
    }

    @Test func `null in a route clears an inherited value, even a whole object`() throws {
        let configuration = try configured(
            """
            { routes: { default: { url: "https://sqs.eu-central-1.amazonaws.com/1/q", timeouts: { total: "5m" },
                                   sign: { aws: { service: "sqs", region: "r", accessKey: "k", secretKey: "s" } } },
                        plain: { sign: null, timeouts: null, url: null } },
              limits: null, conditions: null, retention: null, hooks: null, metrics: null }
            """)
        let plain = configuration.route(of: TypeName("plain")!)
        #expect(configuration.defaultRoute.awsSigning != nil)
        #expect(plain.awsSigning == nil && plain.url == nil)
        // The keys of timeouts have defaults: null leaves them out, and the route inherits them.
        #expect(plain.timeouts.total == .seconds(300))
    }

    @Test(arguments: [
        (#"{ batch: { max: null } }"#, "'max' is missing"),
        (#"{ answers: [{ status: 409, is: null }] }"#, "'is' is missing"),
        (#"{ require: { pointer: null, exists: true } }"#, "'pointer' is missing"),
    ])
    func `null for a required key reports the key as missing`(route: String, reason: String) throws {
        let error = #expect(throws: ConfigurationErrors.self) { try configured("{ routes: { default: \(route) } }") }
        #expect(error.map { "\($0)".contains(reason) } == true, "\(String(describing: error))")
    }

    @Test(arguments: [nil, "https://example.com/{type}?k={key}"])
    func `the template sets only its version and its URL`(url: String?) throws {
        let configuration = try ConfigurationFile.read(
            Array(ConfigurationFile.initial(url: url).utf8), name: "t", directory: "/")
        #expect(configuration == Configuration(defaultRoute: Route(url: url)))
    }

    @Test func `every commented line of the template is valid without its comment marks`() throws {
        let lines = ConfigurationFile.initial(url: nil).split(separator: "\n", omittingEmptySubsequences: false)
        let uncommented = lines.map { line in
            let isMember = line.contains(/^ *\/\/ +([a-zA-Z]+: |},)/)
            return isMember ? String(line).replacing("//", with: "", maxReplacements: 1) : String(line)
        }.joined(separator: "\n")
        let configuration = try ConfigurationFile.read(Array(uncommented.utf8), name: "template", directory: "/")
        #expect(configuration.defaultRoute.url == "https://api.example.com/v1/{type}")
        #expect(configuration.defaultRoute.expiresAfter == .seconds(7 * 86_400))
        #expect(configuration.routes[TypeName("telemetry")!]?.method == "PUT")
        #expect(configuration.limits.bytes == 1_000_000_000)
        #expect(configuration.secrets["api"] == .file("/api.token"))
        #expect(configuration.destinations["https://api.example.com"]?.concurrency == 5)
        #expect(configuration.defaultRoute.batch == Batch(max: 100))
        #expect(configuration.retention.failed == .seconds(30 * 86_400))
    }

    @Test func `the printed defaults are the actual defaults`() throws {
        var route = Route(
            method: "GET", protocol: .callable,
            require: [JSONCondition(pointer: JSONPointer(tokens: []), test: .notEmpty)],
            answers: [AnswerRule(.answers(0), .statuses(nil), .failed)],
            retry: .init(delays: .list([]), attempts: 1), coalesce: true, ordering: .strict, redirects: .sameOrigin,
            overrides: [], answerLimit: 1)
        route.timeouts = Timeouts(connect: .zero, request: .zero, total: .zero)
        try readDefaults(of: ConfigurationKeys.route, into: &route)
        #expect(route == Route())
        var configuration = Configuration(
            conditions: Conditions(network: .online, power: .mains), bodyFileRoots: ["/"],
            limits: Limits(operationBytes: 1, whenFull: .dropOldest), retention: Retention(delivered: .seconds(1)),
            hooks: Hooks(atMostEvery: .zero))
        try readDefaults(of: ConfigurationKeys.file, into: &configuration)
        #expect(configuration == Configuration())
        var settings = DestinationSettings(
            connection: ConnectionOptions(proxy: .direct), transport: .libcurl, holdProbe: nil, circuitBreaker: 1,
            coolDown: .zero, stormGuard: 1)
        try readDefaults(of: ConfigurationKeys.destination, into: &settings)
        #expect(settings == DestinationSettings())
        var accept = AnswerRule.accept(
            json: [JSONCondition(pointer: JSONPointer(tokens: []), test: .notEmpty)], otherwise: .held)
        try readDefaults(of: ConfigurationKeys.accept, into: &accept)

        #expect(accept == AnswerRule.accept())
        var batch = Batch(max: 7, maxBytes: 1, format: .ndjson)
        try readDefaults(of: ConfigurationKeys.batch, into: &batch)
        #expect(batch == Batch(max: 7))
    }

    private func readDefaults<Draft>(of keys: [ConfigurationKey<Draft>], into draft: inout Draft) throws {
        var findings = ConfigurationFindings(directory: "/")
        // Only editors read $schema.
        for key in keys where key.entry.path != "$schema" {
            guard let text = key.entry.defaultText else { continue }
            key.read(try JSON5Parser.value(of: Array(text.utf8)), &draft, &findings)
        }
        #expect(findings.errors.isEmpty)
    }
}
