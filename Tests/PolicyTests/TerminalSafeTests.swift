import Policy
import Testing

struct TerminalSafeTests {
    @Test(arguments: [
        ("plain é 😀 \\ 'x'", "plain é 😀 \\ 'x'"), ("a\nb\r\tc", "a\\nb\\r\\tc"), ("\u{1B}[31m", "\\u{1b}[31m"),
        ("\u{0}\u{7F}\u{9B}", "\\u{0}\\u{7f}\\u{9b}"), ("a\u{202E}b\u{2066}", "a\\u{202e}b\\u{2066}"),
        ("a\u{2028}\u{2029}", "a\\u{2028}\\u{2029}"), ("\u{FEFF}\u{E0041}", "\\u{feff}\\u{e0041}"),
        ("e\r\nf", "e\\r\\nf"),
    ])
    func `characters that steer a terminal are escaped`(text: String, escaped: String) {
        #expect(escapedForDisplay(text) == escaped)
    }

    @Test func `an excerpt is a single short line`() {
        #expect(excerpt(of: Array("\n {\r\n  \"a\": 1\t}\n".utf8)) == "{ \"a\": 1 }")
        #expect(excerpt(of: []) == nil)
        #expect(excerpt(of: Array(" \n".utf8)) == nil)
        #expect(excerpt(of: [0x61, 0xFF, 0x1B]) == "a\u{FFFD}\\u{1b}")
        #expect(excerpt(of: Array(String(repeating: "x", count: 200).utf8)) == String(repeating: "x", count: 200))
        let cut = excerpt(of: Array(String(repeating: "é", count: 5000).utf8))
        #expect(cut == String(repeating: "é", count: 199) + "…")
        let escapes = excerpt(of: [UInt8](repeating: 0x1B, count: 5000))
        #expect(escapes?.unicodeScalars.count == 200)
    }
}
