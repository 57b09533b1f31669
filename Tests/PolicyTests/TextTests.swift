import Policy
import Testing

/// A combining mark after a separator forms a single character with the separator. The separator still counts.
struct TextTests {
    private func same(_ left: (some StringProtocol)?, _ right: String) -> Bool {
        left.map { $0.utf8.elementsEqual(right.utf8) } ?? false
    }

    @Test func `a quote is quoted for a shell, even before a combining mark`() {
        #expect(same(shellWord("a'\u{301}; rm"), #"'a'\''"# + "\u{301}; rm'"))
        #expect(same(shellEscaped("a'\u{301} $b\\"), #"a\'"# + "\u{301}" + #"\ \$b\\"#))
        #expect(shellEscaped("/q/ü~1") == #"/q/ü\~1"# && shellEscaped("") == "''" && shellEscaped("a\nb") == "'a\nb'")
        #expect(same(shellQuoted("'\u{200D}'"), #"''\''"# + "\u{200D}" + #"'\'''"#))
    }

    @Test func `a text is split at bytes without loss`() {
        for text in ["", "a", "/", "a/\u{301}b//c", "/\u{301}", "\r\n/x", "é/e\u{301}"] {
            #expect(same(text.pieces(at: "/").joined(separator: "/"), text))
            #expect(text.pieces(at: "/").count == text.utf8.count { $0 == UInt8(ascii: "/") } + 1)
            #expect(same(text.upTo("/") + text[text.upTo("/").endIndex...], text))
            #expect(!text.upTo("/").utf8.contains(UInt8(ascii: "/")))
        }
        #expect(same("?\u{301}x".afterFirstByte, "\u{301}x") && same("".afterFirstByte, ""))
    }

    @Test func `a redirect is resolved by bytes`() {
        func target(_ location: String) -> String? {
            let answer = AttemptReport.Answer(status: 307, headers: [HeaderField(name: "Location", value: location)])
            return Redirect.target(of: answer, from: "http://a/b/c?d")
        }
        #expect(same(target("?\u{301}"), "http://a/b/c?%CC%81"))
        #expect(same(target("/\u{301}/../e"), "http://a/e"))
        #expect(same(target("e/\u{301}/../f"), "http://a/b/e/f"))
    }

    @Test func `a retry-after counts, whatever follows its comma`() {
        let answer = AttemptReport.Answer(
            status: 503, headers: [HeaderField(name: "Retry-After", value: "7,\u{301}")])
        #expect(RetryAfter.asked(by: answer, now: Timestamp(microseconds: 0)) == .seconds(7))
    }
}
