import Foundation
import Testing

/// A file of this package, its code without comments and without what stands in quotes.
struct SourceFile: Sendable, CustomTestStringConvertible {
    struct Line: Sendable {
        var number: Int
        var code: String
    }

    /// From the package's root: `Sources/Spool/SystemCalls.swift`.
    var path: String
    var lines: [Line]

    /// `Spool`
    var target: String { String(path.split(separator: "/")[1]) }

    var testDescription: String { path }

    init(path: String, text: String) {
        self.path = path
        var isInText = false
        lines = text.split(separator: "\n", omittingEmptySubsequences: false).enumerated().compactMap { index, line in
            let quotes = line.split(separator: "\"\"\"", omittingEmptySubsequences: false).count - 1
            defer { if quotes % 2 == 1 { isInText.toggle() } }
            if isInText { return nil }
            let code = line.replacing(/"(\\.|[^"\\])*"/, with: "\"\"")
            return Line(
                number: index + 1, code: String(code.firstRange(of: "//").map { code[..<$0.lowerBound] } ?? code))
        }
    }

    /// The modules that the file imports, with the lines.
    var imports: [(module: String, line: Int)] {
        lines.compactMap { line in
            line.code.firstMatch(
                of:
                    /^\s*(?:@\w+\s+|package\s+|public\s+|internal\s+|private\s+|fileprivate\s+)*import\s+(?:(?:struct|class|enum|protocol|func|var|let|typealias)\s+)?(\w+)/
            )
            .map { (String($0.1), line.number) }
        }
    }

    /// `path:line: code` of each line that calls one of the functions as a free function, as in `unlink(path)`.
    func calls(of names: [String]) -> [String] {
        lines.filter { line in
            let code = line.code.replacing(/\b(Glibc|Darwin|Swift)\./, with: "")
            return code.matches(of: /(?<before>func |[\w.`]?)\b(?<name>_?\w+)\(/).contains {
                names.contains(String($0.name)) && $0.before.isEmpty
            }
        }.map { "\(path):\($0.number): \($0.code.trimmingCharacters(in: .whitespaces))" }
    }

    /// `path:line: code` of each line that a pattern is found in.
    func lines(matching pattern: some RegexComponent) -> [String] {
        lines.filter { $0.code.contains(pattern) }.map {
            "\(path):\($0.number): \($0.code.trimmingCharacters(in: .whitespaces))"
        }
    }
}

/// The package these tests are part of.
enum House {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    static let sources = swiftFiles(below: "Sources")
    static let tests = swiftFiles(below: "Tests")

    static func text(_ path: String) -> String {
        (try? String(contentsOf: root.appending(path: path), encoding: .utf8)) ?? ""
    }

    private static func swiftFiles(below folder: String) -> [SourceFile] {
        let paths = FileManager.default.enumerator(atPath: root.appending(path: folder).path)?.compactMap {
            $0 as? String
        }
        return (paths ?? []).filter { $0.hasSuffix(".swift") }.sorted().map {
            SourceFile(path: "\(folder)/\($0)", text: text("\(folder)/\($0)"))
        }
    }

    /// What git knows of: the files of a clone.
    static func committedFiles() throws -> [String] {
        let git = Process()
        git.executableURL = URL(filePath: "/usr/bin/env")
        git.arguments = ["git", "-C", root.path, "ls-files", "-z"]
        let pipe = Pipe()
        git.standardOutput = pipe
        try git.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        git.waitUntilExit()
        return String(decoding: output, as: UTF8.self).split(separator: "\0").map(String.init)
    }
}
