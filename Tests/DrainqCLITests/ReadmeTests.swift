import Configuration
import Foundation
import Testing

@testable import DrainqCLI

/// The commands, configurations and files in README.md are valid.
struct ReadmeTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized

    /// Returns the code blocks of a language.
    private static func blocks(_ language: String) throws -> [String] {
        let text = try String(contentsOf: root.appending(path: "README.md"), encoding: .utf8)
        return text.components(separatedBy: "\n```\(language)\n").dropFirst().map { block in
            block.components(separatedBy: "\n```")[0]
        }
    }

    @Test func `every command parses`() throws {
        let blocks = try Self.blocks("sh") + Self.blocks("console")
        let calls = blocks.flatMap { block in
            block.split(separator: "\n").flatMap { line in
                let line = line.hasPrefix("$ ") ? line.dropFirst(2) : line
                return callsOfDrainq(in: String(line.prefix { $0 != "#" }).trimmingCharacters(in: .whitespaces))
            }
        }
        #expect(calls.count > 10)
        for arguments in calls { _ = try ParsedCommand(arguments: arguments) }
    }

    @Test func `every configuration is valid`() throws {
        let blocks = try Self.blocks("json5")
        #expect(!blocks.isEmpty)
        for block in blocks { _ = try ConfigurationFile.read(Array(block.utf8), name: "README.md", directory: "/") }
    }

    @Test func `every file that README.md refers to exists`() throws {
        let text = try String(contentsOf: Self.root.appending(path: "README.md"), encoding: .utf8)
        let paths =
            text.matches(of: /\]\(([A-Za-z][^):]*)\)/).map { String($0.1) }
            + text.matches(of: /`(man\/[^`]+)`/).map { String($0.1) }
        #expect(paths.count >= 5)
        for path in paths {
            #expect(FileManager.default.fileExists(atPath: Self.root.appending(path: path).path), "\(path)")
        }
    }
}
