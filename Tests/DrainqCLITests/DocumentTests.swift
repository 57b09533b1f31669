import Foundation
import Policy
import Testing

@testable import DrainqCLI

/// The committed documents are what the tables make; `DRAINQ_RECORD=1 swift test --filter DocumentTests` writes them anew.
struct DocumentTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized

    private static let documents: [(path: String, make: @Sendable () -> String)] = [
        ("man/drainq.1", { manualPage() }),
        ("man/drainq-json.5", { ManualPage.json.text }),
        ("completions/drainq.bash", { completionScript(for: .bash) }),
        ("completions/_drainq", { completionScript(for: .zsh) }),
        ("completions/drainq.fish", { completionScript(for: .fish) }),
    ]

    @Test(arguments: documents.map(\.path))
    func `a committed document is what the tables make`(path: String) throws {
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

    @Test func `the first line that differs is told, and how it is mended`() throws {
        #expect(MadeText(committed: "a\nb\n", made: "a\nb\n").difference == nil)
        for (made, line) in [("a\nc\n", "line 2 is committed as 'b' and made as 'c'; "), ("a\nb", "line 3 is ")] {
            let told = try #require(MadeText(committed: "a\nb\n", made: made).difference)
            #expect(told.hasPrefix(line) && told.contains("DRAINQ_RECORD=1 swift test "))
        }
    }

    @Test func `documents are plain text that ends in one newline`() {
        for (path, make) in Self.documents {
            let text = make()
            #expect(text.utf8.allSatisfy { $0 == 0x0A || (0x20...0x7E).contains($0) }, "\(path)")
            #expect(text.hasSuffix("\n") && !text.hasSuffix("\n\n"), "\(path)")
            #expect(!text.split(separator: "\n").contains { $0.hasSuffix(" ") }, "\(path)")
        }
    }

    @Test func `the exit statuses of the manual are the enumeration, in its order`() throws {
        let section = try #require(manualPage().components(separatedBy: ".Sh EXIT STATUS\n").last)
        let list = try #require(section.components(separatedBy: ".El\n").first)
        let numbers = list.split(separator: "\n").filter { $0.hasPrefix(".It ") }.compactMap { Int32($0.dropFirst(4)) }
        #expect(numbers == ExitStatus.allCases.map(\.rawValue))
    }

    @Test func `the manual has every command, every option and every example`() {
        let lines = manualPage().split(separator: "\n").map(String.init)
        let escapes = ["\\-": "-", "\\(aq": "'", "\\(ga": "`", "\\(ha": "^", "\\(ti": "~", "\\e": "\\"]
        let shown = Set(lines.map { line in escapes.reduce(line) { $0.replacing($1.key, with: $1.value) } })
        for command in CommandDescription.visible {
            #expect(lines.contains(".Ss \(command.name.rawValue)"))
            for example in command.examples { #expect(shown.contains(example.line), "\(example.line)") }
        }
        for row in OptionDescription.table {
            #expect(lines.contains { $0.hasPrefix(".It") && $0.contains("Fl -\(row.name.rawValue)") })
        }
    }

    @Test func `the manual has every chapter, and what its prose names exists`() {
        let manual = manualPage()
        for chapter in ManualChapter.all {
            #expect(manual.contains(".Sh \(chapter.title)\n"))
            for text in chapter.texts {
                #expect(text.count(where: { $0 == "`" }).isMultiple(of: 2) && !text.contains("  "), "\(text)")
                for option in Prose(text).options {
                    #expect(OptionDescription.table.contains { $0.name.rawValue == option }, "--\(option)")
                }
            }
        }
    }

    @Test func `the manual names every answer once, under what it comes to`() throws {
        let lists = try #require(
            ManualChapter.outcomes.blocks.compactMap { block in
                if case .list(let items) = block { items } else { nil }
            }.first)
        #expect(lists.map(\.term) == ["delivered", "deferred", "held", "failed"])
        #expect(lists[0].text.hasPrefix("Status 200-299. "))
        #expect(
            lists[1].text.hasPrefix("Status 100-199, 408, 409, 421, 423, 425, 429, 500, 502-504, 506-599; errors dns, ")
        )
        #expect(lists[2].text.hasPrefix("Status 300-399, 401, 403, 407; errors tls. "))
        #expect(lists[3].text.contains(", 501, 505; errors bad-url, body-file. "))
    }

    @Test func `help fits eighty columns, but for examples`() {
        for text in [helpOverview()] + CommandDescription.visible.map(helpText) {
            for line in text.components(separatedBy: "\nexamples:")[0].split(separator: "\n") {
                #expect(line.count <= 80, "\(line)")
            }
        }
    }

    @Test func `help shows every option with its initial value`() {
        let help = helpText(of: .of(.run))
        #expect(help.contains("  -t, --type TYPE             attempt only this type\n"))
        #expect(help.contains("[default: auto]"))
        #expect(help.contains("  drainq run --until-empty --max-time 1h\n"))
    }

    @Test func `the names that drainq-queue(5) shows are test vectors, and judged as there`() throws {
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

    @Test func `prose knows options and literal text by their marks`() {
        let prose = Prose("See `a b` (`c`), or --limit, --sync=none.\n\nLast `-`.")
        #expect(prose.options == ["limit", "sync"])
        #expect(prose.lines(width: 20) == ["See 'a b' (c), or", "--limit,", "--sync=none.", "", "Last -."])
    }
}
