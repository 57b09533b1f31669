import Policy
import Testing

struct RawTextTests {
    @Test func `any bytes survive a round trip`() {
        var generator = SeededGenerator(seed: 1)
        let pieces: [[UInt8]] =
            (0...255).map { [$0] } + [
                Array("é".utf8), Array("😀".utf8), [0xF4, 0x8F, 0xBE, 0x80], [0xF4, 0x8F, 0xBF], [0xE2, 0x82],
            ]
        for piece in pieces { #expect(String(raw: piece).rawBytes == piece) }
        for _ in 0..<2000 {
            let bytes = (0..<Int.random(in: 0...12, using: &generator)).flatMap { _ in
                pieces.randomElement(using: &generator)!
            }
            #expect(String(raw: bytes).rawBytes == bytes)
        }
    }

    @Test func `text stays unchanged`() {
        for text in ["", "a/b", "é", "😀", "\u{0}", "\u{10FF7F}"] {
            #expect(String(raw: text.utf8) == text && text.rawBytes == Array(text.utf8))
        }
    }

    @Test func `different bytes make different text and are displayed as escapes`() {
        #expect(String(raw: [0x71, 0xFF]) != String(raw: [0x71, 0xFE]))
        #expect(escapedForDisplay(String(raw: [0x71, 0xFF, 0x2F, 0x80])) == #"q\xff/\x80"#)
        #expect(String(raw: [0x71, 0xFF]).rawCString == [0x71, -1, 0])
    }

    @Test func `bytes outside UTF-8 are a path and no text`() {
        for bytes: [UInt8] in [[0x71, 0xFF], [0xC3], Array("\u{10FF80}".utf8)] {
            #expect(RawText(bytes).text == nil && RawText(bytes).path.rawBytes == bytes)
            #expect(RawText(RawText(bytes).path) == RawText(bytes))
        }
        #expect(RawText("é").text == "é" && RawText(Array("é".utf8)) == "é" && RawText("e\u{301}") != "é")
    }
}
