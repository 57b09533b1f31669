import Foundation
import Testing

/// A file of this package: its code without comments and without quoted texts.
struct SourceFile: Sendable, CustomTestStringConvertible {
    struct Line: Sendable {
        var number: Int
        var code: String
        /// The names in the code, in order. The name of a call ends with `(`, and of a member begins with `.`:
        /// `.unlink(`.
        var words: [String]

        /// Whether the code contains a text. A regular expression takes a hundred times as long: a search first asks this.
        func has(_ text: String) -> Bool { strstr(code, text) != nil }
    }

    /// From the package's root: `Sources/Spool/FileSystem/SystemCalls.swift`.
    var path: String
    var lines: [Line]

    /// `Spool`
    var target: String { String(path.split(separator: "/")[1]) }

    var testDescription: String { path }

    init(path: String, text: String) {
        self.path = path
        var isInText = false
        lines = text.split(separator: "\n", omittingEmptySubsequences: false).enumerated().compactMap { index, line in
            let quotes =
                line.utf8.contains(UInt8(ascii: "\""))
                ? line.split(separator: "\"\"\"", omittingEmptySubsequences: false).count - 1 : 0
            defer { if quotes % 2 == 1 { isInText.toggle() } }
            if isInText { return nil }
            let code = Self.code(of: line.utf8)
            return Line(number: index + 1, code: String(decoding: code, as: UTF8.self), words: Self.words(of: code))
        }
    }

    /// Returns a line up to its comment, with `""` for each text.
    private static func code(of line: Substring.UTF8View) -> [UInt8] {
        var code: [UInt8] = []
        var isQuoted = false
        var isEscaped = false
        for byte in line {
            if isQuoted {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isQuoted = false
                    code.append(byte)
                }
            } else if byte == UInt8(ascii: "/"), code.last == byte {
                code.removeLast()
                break
            } else {
                code.append(byte)
                isQuoted = byte == UInt8(ascii: "\"")
            }
        }
        return code
    }

    private static func words(of code: [UInt8]) -> [String] {
        var words: [String] = []
        var word: [UInt8] = []
        var before: UInt8 = 0
        for byte in code + [UInt8(ascii: " ")] {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
                word.append(byte)
            default:
                if !word.isEmpty {
                    let name = String(decoding: word, as: UTF8.self)
                    let isModules = before == UInt8(ascii: ".") && ["CSystem", "Swift"].contains(words.last)
                    words.append(
                        (before == UInt8(ascii: ".") && !isModules ? "." : "") + name
                            + (byte == UInt8(ascii: "(") ? "(" : ""))
                    word = []
                }
                before = byte
            }
        }
        return words
    }

    /// The modules that the file imports, with the lines.
    var imports: [(module: String, line: Int)] {
        let kinds: Set = ["struct", "class", "enum", "protocol", "func", "var", "let", "typealias"]
        return lines.compactMap { line in
            // An attribute or an access level may precede the import.
            let access: Set<Substring> = ["public", "package", "internal", "fileprivate", "private"]
            let texts = line.code.split(separator: " ").drop { $0.hasPrefix("@") || access.contains($0) }
            guard texts.first == "import", let place = line.words.firstIndex(of: "import") else { return nil }
            return line.words[(place + 1)...].first { !kinds.contains($0) }.map { ($0, line.number) }
        }
    }

    /// Returns `path:line: code` of each line that calls a free function of these names, unless the file declares the
    /// function.
    func calls(of names: [String]) -> [String] {
        let called = Set(names.map { $0 + "(" })
        let declared = Set(
            lines.flatMap { line in zip(line.words, line.words.dropFirst()).filter { $0.0 == "func" }.map(\.1) })
        return lines { line in line.words.contains { called.contains($0) && !declared.contains($0) } }
    }

    /// `path:line: code` of the lines for which `isFound` holds.
    func lines(where isFound: (Line) -> Bool) -> [String] {
        lines.filter(isFound).map { "\(path):\($0.number): \($0.code.trimmingCharacters(in: .whitespaces))" }
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

    /// Returns the files that git tracks: the files of a clone.
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
