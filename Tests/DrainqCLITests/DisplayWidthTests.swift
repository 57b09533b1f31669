import Policy
import Testing

@testable import DrainqCLI

struct DisplayWidthTests {
    @Test(
        arguments: [
            ("", 0), ("crm", 3), ("é", 1), ("e\u{301}", 1), ("日本語", 6), ("ｆｕｌｌ", 8), ("ｶﾞ", 2), ("한국", 4),
            ("\u{1112}\u{1161}\u{11AB}", 2), ("क्ष", 2), ("שלום", 4), ("↦", 1), ("…", 1), ("🎉", 2), ("❤", 1),
            ("❤\u{FE0F}", 2),
            ("👍🏽", 2), ("👨\u{200D}👩\u{200D}👧", 2), ("🇩🇪", 2), ("🇩", 1), ("1\u{FE0F}\u{20E3}", 2), ("a\u{200D}b", 2),
            ("\u{AD}", 1), ("\u{20000}", 2), ("a日b", 4), ("「」", 4),
        ])
    func `the width of a text equals its columns on a terminal`(text: String, width: Int) {
        #expect(text.displayWidth == width)
    }

    @Test func `an escape is as wide as its replacement`() {
        #expect(escapedForDisplay("\u{1B}[31m").displayWidth == "\\u{1b}[31m".count)
    }

    @Test(arguments: [
        ("updateProfile", 13, "updateProfile"), ("updateProfile", 8, "updateP…"), ("日本語", 6, "日本語"), ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"), ("日本語", 1, "…"), ("日本語", 0, ""), ("e\u{301}e\u{301}e\u{301}", 2, "e\u{301}…"),
        ("👍🏽👍🏽", 3, "👍🏽…"),
    ])
    func `a text that is too wide ends in an ellipsis within its columns`(text: String, width: Int, cut: String) {
        #expect(text.truncated(to: width) == cut)
        #expect(cut.displayWidth <= width)
    }

    @Test func `padding counts columns`() {
        #expect("日本".padded(to: 6) == "日本  ")
        #expect("long".padded(to: 2) == "long")
    }

    @Test func `a line is broken at blanks, and a long word stays whole`() {
        #expect("one two three".wrapped(to: 20) == ["one two three"])
        #expect("one two three".wrapped(to: 8, indent: "  ") == ["one two", "  three"])
        #expect("  日本 日本 x".wrapped(to: 7, indent: "  ") == ["  日本", "  日本", "  x"])
        #expect("see 0123456789 now".wrapped(to: 6) == ["see", "0123456789", "now"])
    }
}
