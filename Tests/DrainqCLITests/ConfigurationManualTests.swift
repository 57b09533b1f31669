import Configuration
import Delivery
import Foundation
import Testing

@testable import DrainqCLI
@testable import Policy

struct `The documents of the configuration` {
    @Test func `every example of the manual is a valid configuration`() throws {
        let text = try ConfigurationManual.page()
        let blocks = text.split(separator: ".Bd -literal -offset indent\n").dropFirst().map { block in
            let code = block[..<(block.firstRange(of: ".Ed")?.lowerBound ?? block.endIndex)]
            return code.replacing("\\(dq", with: "\"").replacing("\\(aq", with: "'").replacing("\\e", with: "\\")
        }.filter { $0.hasPrefix("{\n") }
        #expect(blocks.count > 10)
        for block in blocks { _ = try ConfigurationFile.read(Array(block.utf8), name: "example", directory: "/") }
    }

    @Test func `every section that a text refers to exists`() throws {
        let page = try ConfigurationManual.page()
        let sections = page.matches(of: /\.Sh ([A-Z ]+)\n/).map { String($0.1) }
        let pointers = ConfigurationKeys.entries.flatMap { $0.prose.matches(of: /[Ss]ee ([A-Z]{2}[A-Z ]+)/) }
            .map { String($0.1) }
        #expect(pointers.count > 5)
        for pointer in pointers + page.matches(of: /\n\.Sx ([A-Z ]*[A-Z])/).map({ String($0.1) }) {
            #expect(sections.contains(pointer), "\(pointer)")
        }
    }

    @Test(arguments: ConfigurationKeys.entries)
    func `every key has prose, and summaries for the template are short`(entry: ConfigurationEntry) {
        #expect(entry.prose.hasSuffix("."))
        #expect(entry.summary.count <= 40)
    }

    @Test func `the manual has every key once`() {
        let items = ConfigurationManual.parts.flatMap { $0.text.matches(of: #/\.It Ic /#) }
        let schedules = ConfigurationKeys.scheduleEntries
        let rules = ConfigurationKeys.answerEntries + ConfigurationKeys.conditionEntries
        #expect(items.count == ConfigurationKeys.entries.count + schedules.count + rules.count)
    }

    // MARK: - Handwritten parts of the page

    private static func section(_ title: String) throws -> String {
        let page = try ConfigurationManual.page()
        let start = try #require(page.range(of: ".Sh \(title)\n")).upperBound
        return String(
            page[start..<(page.range(of: "\n.Sh ", range: start..<page.endIndex)?.lowerBound ?? page.endIndex)])
    }

    private func outcome(of answer: AnswerPattern, on route: Route) -> String {
        let configuration = Configuration(defaultRoute: route)
        let explained = ExplainedRoute(of: .default, in: configuration, available: Transport.allCases)
        return explained.verdict(on: answer).outcome.rawValue
    }

    @Test func `CALLABLE FUNCTIONS has every name with its outcome`() throws {
        let rows = try Self.section("CALLABLE FUNCTIONS").matches(of: /\.It Li ([A-Z_]+ Ta .*)/).map { String($0.1) }
        let route = Route(protocol: .callable)
        #expect(
            rows == CanonicalStatus.allCases.map { "\($0.rawValue) Ta \(outcome(of: .canonical($0), on: route))" },
            "write the rows of CALLABLE FUNCTIONS in man/drainq-config.5 by hand, in the order of CanonicalStatus")
    }

    @Test func `NAMES OF ERRORS has every name with its outcome`() throws {
        let rows = try Self.section("NAMES OF ERRORS").matches(of: /\.It Li ([a-z-]+ : .*)/).map { String($0.1) }
        let errors = AnswerPattern.errorNames(on: Route()).compactMap(NetworkError.init(rawValue:))
        #expect(
            rows == errors.map { "\($0.rawValue) : \(outcome(of: .error($0), on: Route()))" },
            "write the rows of NAMES OF ERRORS in man/drainq-config.5 by hand, in the order of NetworkError")
    }

    @Test func `GALLERY has two rows for each example, in their order`() throws {
        let rows = try Self.section("GALLERY").matches(of: #/\.It Li (\S+) Ta /#).map { "\($0.1).json5" }
        #expect(rows == ExampleFileTests.names + ExampleFileTests.names)
    }
}
