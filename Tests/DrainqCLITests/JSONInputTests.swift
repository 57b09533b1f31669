import Testing

@testable import DrainqCLI

struct JSONInputTests {
    private func items(_ text: String, parts: Int) -> [JSONInput.Item] {
        let bytes = Array(text.utf8)
        var input = JSONInput()
        var items: [JSONInput.Item] = []
        for start in stride(from: 0, to: bytes.count, by: parts) {
            items += input.feed(Array(bytes[start..<min(start + parts, bytes.count)]), atEnd: false)
        }
        return items + input.feed([], atEnd: true)
    }

    @Test(arguments: [
        "{\"a\":1}\n\n[2]\n3 4\n{bad\n{\"b\":\n5", "\n\n{\n \"a\": [1,\n \"}{\\\"]\"]\n}\n7\n[\n]\n\n{\n}\n",
        "{\n \"a\": 1,,\n \"b\"\n}\n{\"good\": true}\n{\n}\n", "{\n \"a\": [1,\n}\n[\n 1\n]\n}}}\n\n{\n\"c\":2}",
        "\u{FEFF}{\n}\n{\n", "",
    ])
    func `input is cut in the same way whatever parts it comes in`(text: String) {
        let whole = items(text, parts: max(text.utf8.count, 1))
        for parts in 1..<max(text.utf8.count, 2) { #expect(items(text, parts: parts) == whole, "\(parts)") }
    }

    @Test func `a document is given as soon as it is complete`() {
        var input = JSONInput()
        #expect(input.feed(Array("{\n \"a\": {".utf8), atEnd: false).isEmpty)
        #expect(input.feed(Array("},\n".utf8), atEnd: false).isEmpty)
        #expect(input.feed(Array(" \"b\": \"}\"\n}\n".utf8), atEnd: false).count == 1)
        #expect(input.feed(Array("{\n]\n".utf8), atEnd: false).isEmpty)
        #expect(input.feed(Array("{}\n".utf8), atEnd: false).count == 2)
    }

    @Test(.timeLimit(.minutes(5)), arguments: ["", "\n"])
    func `a long value that comes in small parts is not looked through for each`(lineBreak: String) {
        let text = "[" + lineBreak + String(repeating: "[0],", count: 1 << 20) + "0]\n"
        #expect(items(text, parts: 1024).count == 1)
    }
}
