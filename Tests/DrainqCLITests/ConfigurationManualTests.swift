import Configuration
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
        let blocks = text.split(separator: ".Bd -literal -offset indent\n").dropFirst().map { block in
            let code = block[..<(block.firstRange(of: ".Ed")?.lowerBound ?? block.endIndex)]
            return code.replacing("\\(dq", with: "\"").replacing("\\(aq", with: "'").replacing("\\e", with: "\\")
        }.filter { $0.hasPrefix("{\n") }
        #expect(blocks.count > ConfigurationManual.examples.count)
        for block in blocks { _ = try ConfigurationFile.read(Array(block.utf8), name: "example", directory: "/") }
    }

    @Test func `every section that a text points to is there`() {
        let manual = ConfigurationFile.manual()
        let sections = manual.matches(of: /\.Sh ([A-Z ]+)\n/).map { String($0.1) }
        let pointers = ConfigurationKeys.entries.flatMap { $0.prose.matches(of: /[Ss]ee ([A-Z]{2}[A-Z ]+)/) }
        #expect(pointers.count > 5)
        for pointer in pointers { #expect(sections.contains(String(pointer.1)), "\(pointer.1)") }
    }

    @Test(arguments: ConfigurationKeys.entries)
    func `the manual has every key with a sentence, and a line of the template is short`(entry: ConfigurationEntry) {
        #expect(ConfigurationFile.manual().contains(".It Ic \(entry.path) : Ar "))
        #expect(entry.prose.hasSuffix("."))
        #expect(entry.summary.count <= 40)
    }
}
