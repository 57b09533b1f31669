import Foundation
import Policy
import Testing

@testable import DrainqCLI

/// Committed documents equal made documents. `DRAINQ_RECORD=1 swift test --filter DocumentTests` updates the files.
struct DocumentTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized

    private static let documents: [(path: String, make: @Sendable () throws -> String)] = [
        ("man/drainq.1", { try MadePage.command.made() }),
        ("man/drainq-config.5", { try MadePage.configuration.made() }),
        ("man/drainq-json.5", { ManualWriter.outputs }),
        ("completions/drainq.bash", { completionScript(for: .bash) }),
        ("completions/_drainq", { completionScript(for: .zsh) }),
        ("completions/drainq.fish", { completionScript(for: .fish) }),
    ]

    @Test(arguments: documents.map(\.path))
    func `a committed document equals the document that the tables make`(path: String) throws {
        let text = try #require(Self.documents.first { $0.path == path }).make()
        let file = Self.root.appending(path: path)
        if MadeText.isRecording {
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file)
        }
        let committed = try String(contentsOf: file, encoding: .utf8)
        if let difference = MadeText(committed: committed, made: text).difference {
            Issue.record("\(path): \(difference)")
        }
    }

    @Test func `a difference names the first line and the command for the update`() throws {
        #expect(MadeText(committed: "a\nb\n", made: "a\nb\n").difference == nil)
        for (made, line) in [("a\nc\n", "line 2 is committed as 'b' and made as 'c'; "), ("a\nb", "line 3 is ")] {
            let told = try #require(MadeText(committed: "a\nb\n", made: made).difference)
            #expect(told.hasPrefix(line) && told.contains("DRAINQ_RECORD=1 swift test "))
        }
    }

    @Test func `a page has exactly the parts that the tables make`() throws {
        for page in [MadePage.command, .configuration] { #expect(try page.names() == page.parts.map(\.name)) }
    }

    @Test func `the program contains the pages in man/ byte for byte`() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.root.appending(path: "man").path)
        #expect(names.map { String($0.dropLast(2)) }.sorted() == ManualPage.allCases.map(\.rawValue).sorted())
        // The next build contains the recorded page.
        if MadeText.isRecording { return }
        for name in names {
            let page = try #require(ManualPage(rawValue: String(name.dropLast(2))))
            #expect(try page.text == MadePage.text(name), "build the program anew: \(name)")
        }
    }

    @Test func `documents are ASCII text with a single newline at the end`() throws {
        for (path, make) in Self.documents {
            let text = try make()
            #expect(text.utf8.allSatisfy { $0 == 0x0A || (0x20...0x7E).contains($0) }, "\(path)")
            #expect(text.hasSuffix("\n") && !text.hasSuffix("\n\n"), "\(path)")
            #expect(!text.split(separator: "\n").contains { $0.hasSuffix(" ") }, "\(path)")
        }
    }

    @Test func `the manual has every command, every option and every example`() throws {
        let lines = try MadePage.text("drainq.1").split(separator: "\n").map(String.init)
        let escapes = ["\\-": "-", "\\(aq": "'", "\\(ga": "`", "\\(ha": "^", "\\(ti": "~", "\\e": "\\"]
        let shown = Set(lines.map { line in escapes.reduce(line) { $0.replacing($1.key, with: $1.value) } })
        for command in CommandDescription.visible {
            #expect(lines.contains(".Ss \(command.name)"))
            for example in command.examples { #expect(shown.contains(example.line), "\(example.line)") }
        }
        for row in OptionDescription.table {
            #expect(lines.contains { $0.hasPrefix(".It") && $0.contains("Fl -\(row.name.rawValue)") })
        }
    }

    @Test func `every option and section named in the manual exists`() throws {
        let page = try MadePage.text("drainq.1")
        let options = page.matches(of: #/\n\.Fl (?:\( )?-([a-z-]+)/#).map { String($0.1) }
        #expect(options.count > 80)
        for option in options {
            #expect(OptionDescription.table.contains { $0.name.rawValue == option }, "--\(option)")
        }
        for section in page.matches(of: #/[Ss]ee ([A-Z]{2}[A-Z ]+)\./#).map({ String($0.1) }) {
            #expect(page.contains(".Sh \(section)\n"), "\(section)")
        }
    }

    @Test func `the manual lists the answers under their outcomes`() throws {
        let part = try #require(ManualWriter.parts.first { $0.name == "outcomes" }).text
            .replacing("\\-", with: "-").split(separator: ".It Sy ").dropFirst()
            .map { $0.replacing("\n", with: " ") }
        let beginnings = [
            "delivered Status 200-299. ",
            "deferred Status 100-199, 408, 409, 421, 423, 425, 429, 500, 502-504, 506-599; errors dns, ",
            "held Status 300-399, 401, 403, 407; errors tls. ", "failed Status 400, ",
        ]
        #expect(part.count == beginnings.count)
        for (text, beginning) in zip(part, beginnings) { #expect(text.hasPrefix(beginning), "\(text)") }
        #expect(part[3].contains(", 501, 505; errors bad-url, body-file. "))
    }

    @Test func `help fits eighty columns, except for examples`() {
        for text in [helpOverview()] + CommandDescription.visible.map(helpText) {
            for line in text.components(separatedBy: "\nexamples:")[0].split(separator: "\n") {
                #expect(line.count <= 80, "\(line)")
            }
        }
    }

    @Test func `help shows options with their initial values`() {
        let help = helpText(of: RunCommand.description)
        #expect(help.contains("  -t, --type TYPE             attempt only this type\n"))
        #expect(help.contains("[default: auto]"))
        #expect(help.contains("  drainq run --until-empty --max-time 1h\n"))
    }

    @Test func `the names in drainq-queue(5) are test vectors with the same verdicts`() throws {
        let page = try String(contentsOf: Self.root.appending(path: "man/drainq-queue.5"), encoding: .utf8)
        let vectors = try String(
            contentsOf: Self.root.appending(path: "Tests/PolicyTests/Vectors/entry-names.txt"), encoding: .utf8)
        let rows: [[String]] = page.split(separator: "\n").map { line in line.split(separator: " ").map(String.init) }
        let shown = rows.filter { $0.first == "valid" || $0.first == "invalid" }
        #expect(shown.count > 5)
        for row in shown {
            let (verdict, name) = (row[0], row[1])
            #expect(vectors.contains("\n\(verdict)\t\(name)\t"), "\(name)")
            let isName = EntryName(name) != nil
            #expect(isName == (verdict == "valid"), "\(name)")
        }
    }

    @Test func `prose recognizes options and literal text by their marks`() {
        let prose = "See `a b` (`c`), or --limit, --sync=none.\n\nLast `-`."
        #expect(Prose(prose).options == ["limit", "sync"])
        #expect(wrap(prose: prose, width: 20) == ["See 'a b' (c), or", "--limit,", "--sync=none.", "", "Last -."])
    }
}
