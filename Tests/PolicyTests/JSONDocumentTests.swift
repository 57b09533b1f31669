import Policy
import Testing

struct JSONDocumentTests {
    private func document(_ text: String) throws(JSONSyntaxError) -> JSONDocument {
        try JSONDocument(Array(text.utf8))
    }

    private func value(_ text: String) throws(JSONSyntaxError) -> JSONValue { try JSONValue(Array(text.utf8)) }

    /// The examples of RFC 6901 §5.
    @Test(arguments: [
        ("", nil), ("/foo", #"["bar","baz"]"#), ("/foo/0", #""bar""#), ("/", "0"), ("/a~1b", "1"), ("/c%d", "2"),
        ("/e^f", "3"), ("/g|h", "4"), ("/i\\j", "5"), ("/k\"l", "6"), ("/ ", "7"), ("/m~0n", "8"),
    ])
    func `a pointer finds the values of the RFC's examples`(pointer: String, expected: String?) throws {
        let text = #"""
            {"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, "k\"l": 6, " ": 7, "m~n": 8}
            """#
        let found = try document(text).value(at: #require(JSONPointer(pointer)))
        #expect(try found == value(expected ?? text))
    }

    @Test(arguments: [
        "/foo/2", "/foo/-", "/foo/00", "/foo/01", "/foo/+1", "/foo/1e0", "/foo/", "/n/x", "/N", "/foo/0/0",
    ])
    func `a pointer to nothing finds nothing`(pointer: String) throws {
        let found = try document(#"{"foo":["bar","baz"],"n":1}"#).value(at: #require(JSONPointer(pointer)))
        #expect(found == nil)
    }

    @Test func `a pointer is split at every slash, even before a combining mark`() throws {
        let pointer = try #require(JSONPointer("/\u{301}a/b~1\u{301}/~0\u{301}"))
        #expect(
            pointer.tokens.map { Array($0.unicodeScalars) } == [
                ["\u{301}", "a"], ["b", "/", "\u{301}"], ["~", "\u{301}"],
            ])
        #expect(pointer.description == "/\u{301}a/b~1\u{301}/~0\u{301}")
    }

    @Test(arguments: ["a", "a/b", "/~", "/~2", "/a~", "#/a"])
    func `a malformed pointer is refused`(text: String) {
        #expect(JSONPointer(text) == nil)
    }

    @Test func `names and texts are equal by their code points`() throws {
        let composed = try JSONValue(Array("{\"\u{e9}\":1}".utf8))
        let decomposed = try JSONValue(Array("{\"e\u{301}\":1}".utf8))
        #expect(composed != decomposed)
        let both = try JSONValue(Array("{\"\u{e9}\":1,\"e\u{301}\":2}".utf8))
        #expect(both.description == "{\"e\u{301}\":2,\"\u{e9}\":1}")
        #expect(JSONPointer("/\u{e9}") != JSONPointer("/e\u{301}"))
        #expect(Set([JSONPointer("/\u{e9}"), JSONPointer("/e\u{301}"), JSONPointer("/\u{e9}")]).count == 2)
    }

    @Test func `a malformed number equals only itself`() {
        for text in ["", "-", "x", "1.", ".5", "1e", "1.2.3"] {
            #expect(JSONValue.number(text) != .number("1"))
            #expect(JSONValue.number(text) == .number(text))
            #expect(JSONValue.number(text).hashValue == JSONValue.number(text).hashValue)
        }
    }

    @Test func `the last of repeated names counts, and names are compared after unescaping`() throws {
        let found = try document("{\"a\":1,\"\\u0061\":{\"b\":[ {} , 2 ]},\"e\u{301}\":3}")
        #expect(try found.value(at: JSONPointer(tokens: ["a", "b", "1"])) == value("2"))
        #expect(found.value(at: JSONPointer(tokens: ["\u{E9}"])) == nil)
        #expect(try found.value(at: JSONPointer(tokens: ["e\u{301}"])) == value("3"))
        #expect(try value(#"{"a":1,"a":2}"#) == value(#"{"a":2}"#))
    }

    @Test(arguments: [("", "there is no value"), (" \n", "there is no value"), ("1 2", "there is more than one value")])
    func `a document without a value or with a second value is refused`(text: String, reason: String) {
        #expect {
            try document(text)
        } throws: {
            ($0 as? JSONSyntaxError)?.reason == reason
        }
    }

    @Test(arguments: [
        ("1", "1.0"), ("1", "1e0"), ("1", "10e-1"), ("1", "0.1E+1"), ("0", "-0"), ("0", "0e999999999999999999"),
        ("-1.50", "-15e-1"), ("100", "1e2"), ("0.001", "1e-3"), ("12345678901234567890", "1234567890123456789.0e1"),
        (#""é""#, #""\u00e9""#), (#""😀""#, #""\ud83d\ude00""#), (#""\/""#, #""/""#),
        (#"{"a":1,"b":[true,null]}"#, #" { "b" : [ true , null ] , "a" : 1.0 } "#),
        ("1e9999999999999999999999", "1e9999999999999999999999"),
    ])
    func `values are equal in any notation`(left: String, right: String) throws {
        let (left, right) = (try value(left), try value(right))
        #expect(left == right)
        #expect(left.hashValue == right.hashValue)
    }

    @Test(arguments: [
        ("1", "2"), ("1", "-1"), ("1", "\"1\""), ("1", "true"), ("0", "null"), ("0", "false"), ("[]", "{}"),
        ("[1,2]", "[2,1]"), (#"{"a":1}"#, #"{"a":1,"b":1}"#), ("12345678901234567890", "12345678901234567891"),
        ("0.1", "0.10000000000000000001"), ("1e9999999999999999999999", "1e9999999999999999999998"),
        ("1e9223372036854775807", "10e9223372036854775807"), ("\"e\u{301}\"", "\"\u{E9}\""),
    ])
    func `different values are not equal`(left: String, right: String) throws {
        #expect(try value(left) != value(right))
    }

    @Test(arguments: 0..<200 as Range<UInt64>)
    func `a value of any shape is read back from its text`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let made = randomValue(depth: 0, &generator)
        #expect(try value(made.description) == made)
        let spaced = spread(made, &generator)
        #expect(try value(spaced) == made, "\(spaced)")
        for (pointer, part) in places(in: made) {
            #expect(try document(spaced).value(at: pointer) == part, "\(pointer) of \(spaced)")
            #expect(JSONPointer(pointer.description) == pointer)
        }
    }

    @Test(arguments: 0..<100 as Range<UInt64>)
    func `randomly changed bytes are refused or survive a round trip`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let alphabet = Array(#"{}[]",:\ud80019.-+eEtrufalsn "#.utf8) + [0xFF, 0xC3, 0xA9, 0x0A]
        for _ in 0..<50 {
            var bytes = Array(spread(randomValue(depth: 0, &generator), &generator).utf8)
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                let place = Int.random(in: 0...bytes.count, using: &generator)
                let end = min(bytes.count, place + Int.random(in: 0...2, using: &generator))
                bytes.replaceSubrange(place..<end, with: [alphabet.randomElement(using: &generator)!])
            }
            guard let document = try? JSONDocument(bytes) else { continue }
            let whole = try #require(document.value(at: JSONPointer(tokens: [])))
            #expect(try value(whole.description) == whole)
            for (pointer, part) in places(in: whole) { #expect(document.value(at: pointer) == part) }
        }
    }

    @Test func `a document of the maximum depth is read`() throws {
        let levels = JSONScanner.maximumDepth
        let text = String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
        let deepest = JSONPointer(tokens: Array(repeating: "0", count: levels - 1))
        #expect(try document(text).value(at: deepest) == .array([]))
        #expect(try value(text).description == text)
    }

    @Test func `a lone surrogate is replaced and leaves the rest intact`() throws {
        #expect(
            try value(#"["\ud800x","\udc00","\ud800\ud800"]"#)
                == value("[\"\u{FFFD}x\",\"\u{FFFD}\",\"\u{FFFD}\u{FFFD}\"]"))
    }

    @Test func `a condition holds or fails, and describes the result`() throws {
        let text = #"{"a":null,"b":"  \n","c":"x","d":[],"e":{},"f":0,"g":false,"h":[null],"i":{"j":1.0}}"#
        let answer = try document(text)
        let table: [(String, JSONCondition.Test, Bool, String)] = [
            ("/a", .exists(true), true, "/a exists"), ("/z", .exists(true), false, "/z does not exist"),
            ("/a", .exists(false), false, "/a exists"), ("/z", .exists(false), true, "/z does not exist"),
            ("/a", .equals(.null), true, "/a equals null"), ("/z", .equals(.null), false, "/z does not equal null"),
            ("/i/j", .equals(.number("1")), true, "/i/j equals 1"),
            ("/c", .equals(.string("y\u{1B}")), false, #"/c does not equal "y\u001b""#),
            ("/a", .notEmpty, false, "/a is empty"), ("/b", .notEmpty, false, "/b is empty"),
            ("/c", .notEmpty, true, "/c is not empty"), ("/d", .notEmpty, false, "/d is empty"),
            ("/e", .notEmpty, false, "/e is empty"), ("/f", .notEmpty, true, "/f is not empty"),
            ("/g", .notEmpty, true, "/g is not empty"), ("/h", .notEmpty, true, "/h is not empty"),
            ("/z", .notEmpty, false, "/z is empty"), ("", .notEmpty, true, "the document is not empty"),
        ]
        for (pointer, test, holds, words) in table {
            let condition = JSONCondition(pointer: try #require(JSONPointer(pointer)), test: test)
            #expect(condition.holds(in: answer) == holds, "\(condition)")
            #expect((holds ? condition.description : condition.opposite) == words)
        }
    }

    // MARK: - Values at random

    private func randomValue(depth: Int, _ generator: inout SeededGenerator) -> JSONValue {
        switch Int.random(in: 0..<(depth > 4 ? 4 : 6), using: &generator) {
        case 0: return .null
        case 1: return .bool(Bool.random(using: &generator))
        case 2: return .number(["0", "-1", "1.50", "2e3", "-0.1E-5"].randomElement(using: &generator)!)
        case 3: return .string(randomText(&generator))
        case 4:
            let count = Int.random(in: 0...3, using: &generator)
            return .array((0..<count).map { _ in randomValue(depth: depth + 1, &generator) })
        default:
            var members: [JSONName: JSONValue] = [:]
            for _ in 0..<Int.random(in: 0...3, using: &generator) {
                members[JSONName(randomText(&generator))] = randomValue(depth: depth + 1, &generator)
            }
            return .object(members)
        }
    }

    private func randomText(_ generator: inout SeededGenerator) -> String {
        let pieces = [
            "a", "\u{e9}", "e\u{301}", "😀", "\"", "\\", "/", "~", "\n", "\u{1}", " ", "0", "{", "]", ",", ":",
        ]
        return (0..<Int.random(in: 0...4, using: &generator)).map { _ in pieces.randomElement(using: &generator)! }
            .joined()
    }

    /// Returns the value's text with random white space and with all characters of texts escaped.
    private func spread(_ value: JSONValue, _ generator: inout SeededGenerator) -> String {
        let blanks = ["", " ", "\n\t", "\r"]
        let blank = blanks.randomElement(using: &generator)!
        switch value {
        case .array(let elements):
            var parts: [String] = []
            for element in elements { parts.append(spread(element, &generator)) }
            return blank + "[" + blank + parts.joined(separator: ",") + "]" + blank
        case .object(let members):
            var parts: [String] = []
            for (name, value) in members {
                parts.append(blank + escaped(name.text) + blank + ":" + spread(value, &generator))
            }
            return blank + "{" + parts.joined(separator: ",") + blank + "}"
        case .string(let text): return blank + escaped(text) + blank
        case .null, .bool, .number: return blank + value.description + blank
        }
    }

    private func escaped(_ text: String) -> String {
        let units = text.utf16.map { unit in
            let hex = String(unit, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
        }
        return "\"" + units.joined() + "\""
    }

    private func places(in value: JSONValue) -> [(JSONPointer, JSONValue)] {
        func inside(_ token: String, _ part: JSONValue) -> [(JSONPointer, JSONValue)] {
            places(in: part).map { (JSONPointer(tokens: [token] + $0.0.tokens), $0.1) }
        }
        switch value {
        case .array(let elements):
            return [(JSONPointer(tokens: []), value)] + elements.enumerated().flatMap { inside("\($0)", $1) }
        case .object(let members):
            return [(JSONPointer(tokens: []), value)] + members.flatMap { inside($0.key.text, $0.value) }
        case .null, .bool, .number, .string: return [(JSONPointer(tokens: []), value)]
        }
    }
}
