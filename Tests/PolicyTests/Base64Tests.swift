import Testing

@testable import Policy

struct Base64Tests {
    /// RFC 4648 §10.
    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ])
    func `the test vectors of the RFC are encoded and decoded`(text: String, letters: String) {
        #expect(Base64.encode(Array(text.utf8)) == letters)
        #expect(Base64.decode(letters.utf8) == Array(text.utf8))
    }

    @Test(arguments: 0..<200)
    func `encoded bytes decode to the same bytes`(length: Int) {
        var generator = SeededGenerator(seed: UInt64(length))
        let bytes = (0..<length).map { _ in UInt8.random(in: 0...255, using: &generator) }
        #expect(Base64.decode(Base64.encode(bytes).utf8) == bytes)
        #expect(Base64.decodeLeniently(Base64.encode(bytes).utf8) == bytes)
    }

    @Test(arguments: [
        "Zg", "Zg=", "Zg===", "Z===", "====", "=", "Zm9vYg==Zm9v", "Zm9v\n", "Zm-v", "Zm_v", "Zm9 ", "Zm=v", "é===",
    ])
    func `text outside the standard encoding is refused`(text: String) {
        #expect(Base64.decode(text.utf8) == nil)
    }

    @Test(arguments: ["Zg", "Zg=", "Zg==", "Zg==="])
    func `lenient decoding accepts missing and wrong padding`(text: String) {
        #expect(Base64.decodeLeniently(text.utf8) == Array("f".utf8))
    }
}
