import Testing

@testable import DrainqCLI

struct JSONInputTests {
    private func items(_ text: String, parts: Int, longest: Int = 1 << 20) -> [JSONInput.Item] {
        items(Array(text.utf8), parts: parts, longest: longest)
    }

    private func items(_ bytes: [UInt8], parts: Int, longest: Int = 1 << 20) -> [JSONInput.Item] {
        var input = JSONInput(longest: longest)
        var items: [JSONInput.Item] = []
        for start in stride(from: 0, to: bytes.count, by: parts) {
            items += input.feed(Array(bytes[start..<min(start + parts, bytes.count)]), atEnd: false)
        }
        return items + input.feed([], atEnd: true)
    }

    private func values(_ text: String) -> [String] { values(Array(text.utf8)) }

    private func values(_ bytes: [UInt8]) -> [String] {
        items(bytes, parts: max(bytes.count, 1)).compactMap {
            if case .value(let value, _) = $0 { String(decoding: value, as: UTF8.self) } else { nil }
        }
    }

    @Test(arguments: [
        "{\"a\":1}\n\n[2]\n3 4\n{bad\n{\"b\":\n5", "\n\n{\n \"a\": [1,\n \"}{\\\"]\"]\n}\n7\n[\n]\n\n{\n}\n",
        "{\n \"a\": 1,,\n \"b\"\n}\n{\"good\": true}\n{\n}\n", "{\n \"a\": [1,\n}\n[\n 1\n]\n}}}\n\n{\n\"c\":2}",
        "\u{FEFF}{\n}\n{\n", "", "{\"a\":\n1\n2\n3\n4", "[\n1\n2\n3\n]\n", "{\n}{\n}{\n}", "},\n{\n\"a\": 1\n}\n]",
    ])
    func `input is split into the same values for every size of its parts`(text: String) {
        let whole = items(text, parts: max(text.utf8.count, 1))
        for parts in 1..<max(text.utf8.count, 2) { #expect(items(text, parts: parts) == whole, "\(parts)") }
    }

    @Test func `a document is complete at the break of its last line`() {
        var input = JSONInput()
        #expect(input.feed(Array("{\n \"a\": {".utf8), atEnd: false).isEmpty)
        #expect(input.feed(Array("},\n".utf8), atEnd: false).isEmpty)
        #expect(input.feed(Array(" \"b\": \"}\"\n}".utf8), atEnd: false).isEmpty)
        #expect(input.feed(Array("\n".utf8), atEnd: false).count == 1)
        #expect(input.feed(Array("{\n]\n".utf8), atEnd: false).isEmpty)
        #expect(input.feed(Array("\n{\n}{\n}\n".utf8), atEnd: false).isEmpty)
    }

    @Test func `adjacent documents are separate values`() {
        var input = JSONInput()
        #expect(input.feed(Array("{\n \"a\": 1\n}{\n \"a\": 2\n}{\n".utf8), atEnd: false).count == 2)
        #expect(input.feed(Array("}".utf8), atEnd: true).count == 1)
    }

    // MARK: - Torn lines

    @Test(arguments: [
        "\"", "{\"a\":", "-", "[1,", "tru", "{", "{\"a\"", "{\"a\":[{", "{\"a\":\"x", "\"b\":2}", "x\":[1],", "}",
        "\0\0",
        "{\"a\":1,\"b\":[1]",
    ])
    func `the lines behind a torn first line are values`(first: String) {
        var input = JSONInput()
        let lines = (0..<200).map { "\"log line \($0)\"\n" }.joined()
        let taken = input.feed(Array("\(first)\n\(lines)".utf8), atEnd: false)
        let ids = taken.filter { if case .value = $0 { true } else { false } }
        #expect(ids.count == 200)
        #expect(
            taken.first
                == .bad(
                    Array(first.utf8) + (taken.first.map(endsWithBreak) ?? false ? [10] : []), line: 1, mistakeLine: 1,
                    reason: reason(taken[0])))
        #expect(input.pending == 0)
    }

    private func endsWithBreak(_ item: JSONInput.Item) -> Bool {
        if case .bad(let text, _, _, _) = item { text.last == 10 } else { false }
    }

    private func reason(_ item: JSONInput.Item) -> String {
        if case .bad(_, _, _, let reason) = item { reason } else { "" }
    }

    @Test func `a bad line behind whole lines does not affect later lines`() {
        #expect(values("{\"a\":1}\n{\"b\":\n{\"c\":3}\n[1,\n2\n") == ["{\"a\":1}", "{\"c\":3}", "2"])
    }

    // MARK: - Broken documents

    @Test(arguments: [
        // As `sqlite3 -json` writes an array, cut.
        "[{\"a\":1},\n{\"a\":2},\n{\"a\":3},\n{\"a\":", "[{\"a\":1},\n{\"a\":2},\n", "[\n{\"a\":1}\n",
        "[{\"a\":1}\n{\"a\":2},\n{\"a\":3}]\n", "[{\"a\":1}\n{\"a\":2}\n,{\"a\":3}]\n",
        "[{\"a\":\"1},\n{\"a\":2},\n{\"a\":3}]\n",
        // Lines put into brackets.
        "[\n{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n{\"a\":4}\n]\n", "{\"records\":[\n1\n2\n3\n4\n]}\n",
        "{\n\"a\": {\n\"x\": 1\n}},\n\"b\": [\n1,\n2\n]\n}\n", "{\"x\" 1, \"l\": [\n 1,\n 2\n]}\n",
        "{\"a\":2},\n{\"a\":3}]\n", "\"a\": 1\n},\n{\n\"a\": 2\n}\n]\n",
    ])
    func `a broken document gives no operation`(text: String) {
        #expect(values(text).isEmpty)
    }

    @Test func `whole documents around a broken document are operations`() {
        #expect(
            values("{\n \"a\": 1\n}\n{\n \"a\": [,]\n}\n{\n \"a\": 3\n}\n") == ["{\n \"a\": 1\n}", "{\n \"a\": 3\n}"])
        #expect(values("{\n \"a\": 1,\n{\n \"a\": 2\n}\n") == ["{\n \"a\": 2\n}"])
        #expect(values("[{\"a\":1}\n,{\"a\" 2}]\n[{\"a\":3},\n{\"a\":4}]\n") == ["[{\"a\":3},\n{\"a\":4}]"])
    }

    /// Multi-line forms of values, as programs in use write them.
    private static let documents: [String] = [
        "[{\"a\":1,\"b\":\"x y\"},\n{\"a\":2,\"b\":\"z{\"},\n{\"a\":3,\"b\":null}]\n",
        "[\n{\n\"a\": [\n1,\n2\n],\n\"b\": {\n\"c\": \"d\"\n}\n},\n{\n\"a\": [],\n\"b\": {}\n},\n[\n3,\n\"x\"\n]\n]\n",
        "{\n  \"a\": [\n    1,\n    {\n      \"b\": \"c, d\"\n    },\n    2\n  ],\n  \"e\": true\n}\n",
        "[{\"a\":1}\n,{\"a\":2}\n,{\"a\":3}\n]\n", "[1,\n2,\n3\n]\n", "{\"a\":\n[1,\n2],\n\"b\":\n\"c\"\n}\n",
    ]

    @Test(arguments: documents)
    func `a cut, a missing or an added byte makes no operation of a part of a document`(document: String) {
        let bytes = Array(document.utf8)
        let whole = values(document)
        #expect(whole.count == 1)
        var seen = 0
        func check(_ broken: [UInt8], _ place: Int) {
            seen += 1
            // A whole value in the first line means lines.
            if values(Array(broken.prefix { $0 != 10 })).count > 0 { return }
            for value in values(broken) where !broken.starts(with: value.utf8) {
                // The beginning of the text may be a whole document now. The document may have lost a byte.
                #expect(value.utf8.count + 3 >= bytes.count, "\(value.debugDescription) at \(place)")
            }
        }
        for place in bytes.indices {
            check(Array(bytes[..<place]), place)
            check(Array(bytes[..<place] + bytes[(place + 1)...]), place)
            // A bracket in column 0 of an indented document begins a new document.
            let isLineStart = place > 0 && bytes[place - 1] == 10 && document.contains("\n  ")
            for other in "{}[],:\"x".utf8 where !isLineStart || (other != 0x7B && other != 0x5B) {
                check(Array(bytes[..<place] + [other] + bytes[place...]), place)
            }
        }
        #expect(seen > bytes.count * 9)
    }

    // MARK: - Encodings and bounds

    @Test func `any line may begin with a byte order mark`() {
        #expect(values("\u{FEFF}{\"a\":1}\n\u{FEFF}{\"b\":2}\n") == ["{\"a\":1}", "{\"b\":2}"])
        #expect(values("\u{FEFF}{\n}\n\u{FEFF}[\n]\n") == ["{\n}", "[\n]"])
    }

    @Test(
        arguments: [
            ([0x1F, 0x8B, 8, 10, 49, 10, 49, 10, 49, 10, 49, 10], "zcat"),
            ([0xFF, 0xFE, 49, 0, 10, 0, 49, 0, 10, 0], "iconv"),
            ([49, 0, 10, 0, 49, 0, 10, 0], "iconv"), ([0, 49, 0, 10, 0, 49], "iconv"),
        ] as [([UInt8], String)])
    func `input that is not text is bad as a whole, and the reason names a converter`(
        bytes: [UInt8], program: String
    ) throws {
        let items = items(bytes, parts: 1)
        #expect(items.count == 1 && reason(items[0]).contains(program))
    }

    @Test(arguments: [1, 7, 1000])
    func `a line beyond the bound is bad by its beginning, and later lines are read`(parts: Int) {
        let hole = String(repeating: "\0", count: 5000)
        let items = items("1\n\(hole){\"lost\":1}\n2\n", parts: parts, longest: 2000)
        #expect(items.count == 3 && items.first == .value([49], line: 1) && items.last == .value([50], line: 3))
        if case .bad(let text, line: 2, mistakeLine: 2, let reason) = items[1] {
            #expect(text.allSatisfy { $0 == 0 } && text.count > 1000 && reason.contains("2000 bytes"))
        } else {
            Issue.record("\(items[1])")
        }
    }

    @Test(arguments: [1, 1000])
    func `a document beyond the bound is bad by its beginning, and later documents are read`(parts: Int) {
        let long = "[\n" + String(repeating: " 1,\n", count: 1000) + " 1\n]\n"
        let items = items("{\n}\n\(long){\n}\n", parts: parts, longest: 2000)
        #expect(items.count == 3 && items.last == .value(Array("{\n}".utf8), line: 1006))
        #expect(reason(items[1]).contains("2000 bytes"))
    }

    @Test(.timeLimit(.minutes(10)), arguments: ["", "\n"])
    func `a long value in small parts is not scanned again for each part`(lineBreak: String) {
        let text = "[" + lineBreak + String(repeating: "[0],", count: 1 << 20) + "0]\n"
        #expect(items(text, parts: 1024, longest: 16 << 20).count == 1)
    }
}
