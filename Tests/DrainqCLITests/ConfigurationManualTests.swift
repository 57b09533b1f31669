import Foundation
import Policy
import Testing

@testable import DrainqCLI

@Suite(.serialized) struct `The documents of the configuration` {
    static let manual = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "man/drainq-config.5")

    @Test func `man/drainq-config.5 is what the tables say`() throws {
        if ProcessInfo.processInfo.environment["DRAINQ_RECORD"] == "1" {
            try Data(ConfigurationFile.manual().utf8).write(to: Self.manual)
        }
        #expect(
            try String(contentsOf: Self.manual, encoding: .utf8) == ConfigurationFile.manual(),
            "DRAINQ_RECORD=1 swift test --filter Configuration writes it anew")
    }

    @Test func `every example of the manual is a right configuration`() throws {
        let text = try String(contentsOf: Self.manual, encoding: .utf8)
        let examples = try #require(text.firstRange(of: ".Sh EXAMPLES")).upperBound
        let blocks = text[examples...].split(separator: ".Bd -literal -offset indent\n").dropFirst().map { block in
            let code = block[..<(block.firstRange(of: ".Ed")?.lowerBound ?? block.endIndex)]
            return code.replacing("\\(dq", with: "\"").replacing("\\(aq", with: "'").replacing("\\e", with: "\\")
        }
        #expect(blocks.count == ConfigurationManual.examples.count)
        for block in blocks { _ = try ConfigurationFile.read(Array(block.utf8), name: "example") }
    }

    @Test(arguments: ConfigurationKeys.entries)
    func `the manual has every key with a sentence, and a line of the template is short`(entry: ConfigurationEntry) {
        #expect(ConfigurationFile.manual().contains(".It Ic \(entry.path) : Ar "))
        #expect(entry.prose.hasSuffix("."))
        #expect(entry.summary.count <= 40)
    }

    @Test(arguments: [nil, "https://example.com/{type}?k={key}"])
    func `the template says nothing but its version and its URL`(url: String?) throws {
        let configuration = try ConfigurationFile.read(Array(ConfigurationFile.template(url: url).utf8), name: "t")
        #expect(configuration == Configuration(defaultRoute: Route(url: url)))
    }

    @Test func `every line of the template can be taken out of its comment`() throws {
        let lines = ConfigurationFile.template(url: nil).split(separator: "\n", omittingEmptySubsequences: false)
        let uncommented = lines.map { line in
            let isMember = line.contains(/^ *\/\/ +([a-zA-Z]+: |},)/)
            return isMember ? String(line).replacing("//", with: "", maxReplacements: 1) : String(line)
        }.joined(separator: "\n")
        let configuration = try ConfigurationFile.read(Array(uncommented.utf8), name: "template")
        #expect(configuration.defaultRoute.url == "https://api.example.com/v1/{type}")
        #expect(configuration.defaultRoute.expiresAfter == .seconds(7 * 86_400))
        #expect(configuration.routes[TypeName("telemetry")!]?.method == "PUT")
        #expect(configuration.limits.bytes == 1_000_000_000)
        #expect(configuration.retention.failed == .seconds(30 * 86_400))
    }

    @Test func `the defaults that are printed are the defaults that hold`() throws {
        var findings = ConfigurationFindings()
        var route = Route(method: "GET", retry: .init(delays: .list([]), attempts: 1), answerLimit: 1)
        route.timeouts = Timeouts(connect: .zero, request: .zero, total: .zero)
        for key in ConfigurationKeys.route {
            guard let text = key.entry.defaultText else { continue }
            key.read(try JSON5Parser.value(of: Array(text.utf8)), &route, &findings)
        }
        #expect(route == Route())
        var configuration = Configuration(
            limits: Limits(operationBytes: 1, whenFull: .dropOldest), retention: Retention(delivered: .seconds(1)))
        for key in ConfigurationKeys.file {
            guard let text = key.entry.defaultText else { continue }
            key.read(try JSON5Parser.value(of: Array(text.utf8)), &configuration, &findings)
        }
        #expect(configuration == Configuration())
        #expect(findings.isEmpty)
    }
}
