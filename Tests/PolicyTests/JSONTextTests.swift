import Policy
import Testing

struct JSONTextTests {
    private static let texts = [
        "", "plain", "\"\\/", "\n\r\t\u{0}\u{1F}\u{7F}", "é\u{9B}", "\u{202E}abc\u{2066}", "\u{200B}\u{FEFF}",
        "\u{E0041}\u{1F600}",
    ]

    @Test(arguments: texts)
    func `a quoted text is read back unchanged`(text: String) throws {
        #expect(try JSONValue(Array(JSONText.quoted(text).utf8)) == .string(text))
    }

    @Test(arguments: texts)
    func `JSON escaped for display keeps its value and steers no terminal`(text: String) throws {
        let shown = JSONText.escapedJSONForDisplay(JSONText.quoted(text))
        #expect(try JSONValue(Array(shown.utf8)) == .string(text))
        #expect(escapedForDisplay(shown) == shown)
    }

    @Test func `a character outside the basic plane is escaped as a surrogate pair`() {
        #expect(JSONText.escapedJSONForDisplay("\"\u{E0041}\u{1F600}\"") == "\"\\udb40\\udc41\u{1F600}\"")
    }
}
