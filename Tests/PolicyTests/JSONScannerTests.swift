import Testing

@testable import Policy

struct JSONScannerTests {
    private func scan(_ bytes: [UInt8]) throws -> [String] {
        var scanner = JSONScanner(bytes)
        var values: [String] = []
        while let range = try scanner.next() { values.append(String(decoding: bytes[range], as: UTF8.self)) }
        return values
    }

    @Test(
        arguments: [
            ("", []),
            (" \t\r\n", []),
            ("{}", ["{}"]),
            (" { } ", ["{ }"]),
            ("[]", ["[]"]),
            ("[ ]", ["[ ]"]),
            ("[[],{}]", ["[[],{}]"]),
            ("null true false", ["null", "true", "false"]),
            (
                "0 -0 1.10 1e5 1E+5 -1.5e-10 12345678901234567890",
                ["0", "-0", "1.10", "1e5", "1E+5", "-1.5e-10", "12345678901234567890"]
            ),
            (#""a" "\"\\\/\b\f\n\r\té""#, [#""a""#, #""\"\\\/\b\f\n\r\té""#]),
            (#""\ud800""#, [#""\ud800""#]),
            (#"{"\udc00":1}"#, [#"{"\udc00":1}"#]),
            ("\"\u{7F}é😀\"", ["\"\u{7F}é😀\""]),
            ("{\"n\":1}\n{\"n\":2}\n", ["{\"n\":1}", "{\"n\":2}"]),
            (#"{}{}[]"a""b"1[2]true{}"#, ["{}", "{}", "[]", "\"a\"", "\"b\"", "1", "[2]", "true", "{}"]),
            (#"{"a":{"b":[1,{"c":null}]},"a":2}"#, [#"{"a":{"b":[1,{"c":null}]},"a":2}"#]),
            ("{ \"a\" : 1 , \"b\" : [ 1 , 2 ] }", ["{ \"a\" : 1 , \"b\" : [ 1 , 2 ] }"]),
        ] as [(String, [String])])
    func `values are found in their written form`(text: String, values: [String]) throws {
        #expect(try scan(Array(text.utf8)) == values)
    }

    @Test(
        arguments: [
            ("{", 1, "expected a name in quotes, found the end"),
            ("[", 1, "expected a value, found the end"),
            ("[1", 2, "expected ',' or ']', found the end"),
            ("[1 \n\n", 2, "expected ',' or ']', found the end"),
            ("[1 2]", 3, "expected ',' or ']'"),
            ("[1,]", 3, "expected a value"),
            ("{\"a\":1,}", 7, "expected a name in quotes"),
            ("{\"a\" 1}", 5, "expected ':' after the name"),
            ("{a:1}", 1, "expected a name in quotes"),
            ("{\"a\":1]", 6, "expected ',' or '}'"),
            ("]", 0, "expected a value"),
            ("nul", 0, "expected a value"),
            ("nullnull", 4, "expected white space after the value"),
            ("01", 1, "expected white space after the value"),
            ("[01]", 2, "expected ',' or ']'"),
            ("-", 1, "expected a digit, found the end"),
            ("-a", 1, "expected a digit"),
            ("1.", 2, "expected a digit, found the end"),
            ("1.x", 2, "expected a digit"),
            ("1e", 2, "expected a digit, found the end"),
            ("+1", 0, "expected a value"),
            (".5", 0, "expected a value"),
            ("NaN", 0, "expected a value"),
            ("\"", 1, "expected the end of a string, found the end"),
            ("\"\\", 2, "expected the end of a string, found the end"),
            ("\"\\x\"", 2, "no such escape in a string"),
            ("\"\\u12g4\"", 5, "expected four hex digits"),
            ("\"a\nb\"", 2, "a control character in a string"),
            ("\"a\u{0}\"", 2, "a control character in a string"),
            ("\u{0}", 0, "expected a value"),
            ("{}\u{0}", 2, "expected a value"),
            ("1\u{0}", 1, "expected white space after the value"),
            ("// c\n1", 0, "expected a value"),
            ("'a'", 0, "expected a value"),
            ("\u{FEFF}{}", 0, "a byte order mark, which JSON does not have (RFC 8259 §8.1)"),
            ("1,2", 1, "expected white space after the value"),
        ] as [(String, Int, String)])
    func `invalid JSON is refused with an offset and a reason`(text: String, offset: Int, reason: String) {
        let expected = JSONSyntaxError(offset: offset, reason: reason)
        #expect(throws: expected) { try scan(Array(text.utf8)) }
        #expect(expected.description == "\(reason) at byte \(offset)")
    }

    @Test(
        arguments: [
            [0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xE2, 0x82],
        ] as [[UInt8]])
    func `bytes outside UTF-8 are refused`(bytes: [UInt8]) {
        #expect(throws: JSONSyntaxError(offset: 0, reason: "the value is not valid UTF-8")) {
            try scan([0x22] + bytes + [0x22])
        }
        #expect(throws: JSONSyntaxError(offset: 1, reason: "the name is not valid UTF-8")) {
            let object = Array("{\"".utf8) + bytes + Array("\":1}".utf8)
            return try JSONScanner.members(of: object, in: 0..<object.count)
        }
    }

    @Test(arguments: ["[", "{\"a\":", "[{\"a\":"])
    func `too deep nesting is refused`(opening: String) {
        let deep = Array(String(repeating: opening, count: 100_000).utf8)
        #expect {
            try scan(deep)
        } throws: {
            ($0 as? JSONSyntaxError)?.reason == "nested deeper than 512"
        }
    }

    @Test func `512 levels are the deepest`() throws {
        let levels = JSONScanner.maximumDepth
        let fits = Array((String(repeating: "[", count: levels) + String(repeating: "]", count: levels)).utf8)
        #expect(try scan(fits).count == 1)
        #expect(throws: JSONSyntaxError.self) { try scan([0x5B] + fits + [0x5D]) }
    }

    @Test func `the members of an object come in order, repeated names included`() throws {
        let bytes = Array(#" { "a" : 1 , "é" : [ 1 ] , "a":{} }"#.utf8)
        let members = try #require(try JSONScanner.members(of: bytes, in: 0..<bytes.count))
        #expect(members.map(\.name) == ["a", "é", "a"])
        #expect(members.map { String(decoding: bytes[$0.value], as: UTF8.self) } == ["1", "[ 1 ]", "{}"])
        #expect(members.first?.nameOffset == 3)
        let escaped = Array(#"{"\u0061\n":1}"#.utf8)
        #expect(try JSONScanner.members(of: escaped, in: 0..<escaped.count)?.map(\.name) == ["a\n"])
    }

    @Test func `only an object has members`() throws {
        #expect(try JSONScanner.members(of: Array("[1]".utf8), in: 0..<3) == nil)
        #expect(try JSONScanner.members(of: Array("{ }".utf8), in: 0..<3) == [])
    }

    @Test(arguments: [
        (#"{"a" 1}"#, "expected ':' after the name"), (#"{"a":1 2}"#, "expected ',' or '}'"),
        (#"{"\ud800":1}"#, "the name is not valid text"), (#"{a:1}"#, "expected a name in quotes"),
    ])
    func `members of a malformed object are refused`(text: String, reason: String) {
        #expect {
            try JSONScanner.members(of: Array(text.utf8), in: 0..<text.utf8.count)
        } throws: {
            ($0 as? JSONSyntaxError)?.reason == reason
        }
    }
}
