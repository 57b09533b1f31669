import Testing

@testable import Configuration

struct `JSON5 as the configuration reads it` {
    private func content(_ text: String) throws -> JSON5Value.Content {
        try JSON5Parser.value(of: Array(text.utf8)).content
    }

    @Test(
        arguments: [
            ("null", .null), ("true", .boolean(true)), ("false", .boolean(false)),
            ("1.10", .number("1.10")), ("-0x1F", .number("-0x1F")), (".5", .number(".5")), ("5.", .number("5.")),
            ("+1e-3", .number("+1e-3")), ("-Infinity", .number("-Infinity")), ("NaN", .number("NaN")),
            ("0", .number("0")),
            (#"'it\'s "so"'"#, .string(#"it's "so""#)), (#""\x41\u00e9\uD83D\uDE00\n\q\0""#, .string("Aé😀\nq\0")),
            ("'a\\\nb\\\r\nc'", .string("abc")), (#""\b\f\r\t\v\\""#, .string("\u{8}\u{C}\r\t\u{B}\\")),
            ("[]", .array([])), ("{}", .object([])), ("\u{FEFF} // c\n /* * / **/ null // end", .null),
        ] as [(String, JSON5Value.Content)])
    func `a value is read as specified`(text: String, expected: JSON5Value.Content) throws {
        #expect(try content(text) == expected)
    }

    @Test(arguments: [
        (#"{ver\u0073ion: 1}"#, "version"), (#"{\u0076ersion: 1}"#, "version"), (#"{\u0024a\u0030: 1}"#, "$a0"),
        ("{a\u{200D}b: 1}", "a\u{200D}b"),
    ])
    func `a name without quotes may have escapes`(text: String, name: String) throws {
        guard case .object(let members) = try content(text) else { return #expect(Bool(false)) }
        #expect(members.map(\.name) == [name])
    }

    @Test(arguments: [#"{\u0030a: 1}"#, #"{a\u002d: 1}"#, #"{a\x41: 1}"#, #"{\ud83d\ude00: 1}"#, "{\u{85}}"])
    func `invalid names and white space are errors`(text: String) {
        #expect(throws: JSON5SyntaxError.self) { try content(text) }
    }

    @Test func `values and names have positions, with any line ending`() throws {
        let value = try JSON5Parser.value(of: Array("{\r\n  $a_1: [1,\r 'é', 2,],\n}".utf8))
        guard case .object(let members) = value.content, case .array(let elements) = members[0].value.content else {
            Issue.record("no object of a list")
            return
        }
        #expect(members[0].name == "$a_1")
        #expect(members[0].position == SourcePosition(line: 2, column: 3))
        let places = elements.map { [$0.position.line, $0.position.column] }
        #expect(places == [[2, 10], [3, 2], [3, 7]])
    }

    @Test(arguments: [
        ("", "1:1 expected a value, but the file ends here"),
        ("{", "1:2 expected a name or '}', but the file ends here; '{' of line 1, column 1 is still open"),
        ("{\n  a: [1,\n", "3:1 expected a value or ']', but the file ends here; '[' of line 2, column 6 is still open"),
        ("{ a: 1\n  b: 2 }", "2:3 expected ',' or '}', found 'b'"),
        ("[1 2]", "1:4 expected ',' or ']', found '2'"),
        ("{ a 1 }", "1:5 expected ':' after the name, found '1'"),
        ("{ connect-timeout: 1 }", "1:10 expected ':' after the name, found '-'; a name with '-' or '.' needs quotes"),
        ("{ 404: 'x' }", "1:3 expected a name, found '4'; a name that begins with a digit needs quotes"),
        ("{ , }", "1:3 expected a name, found ','"),
        ("{ a: POST }", "1:6 expected a value, found 'POST'; text needs quotes: \"POST\""),
        ("{ a: 5s }", "1:7 a number ends with a digit, found 's'; text, and a number with a unit, needs quotes"),
        ("{ a: \"x\n }", "1:6 this text has no end; it lacks \" before the end of the line"),
        ("{ a: 'x", "1:6 this text has no end; it lacks ' before the end of the line"),
        ("1 2", "1:3 expected the end of the file, found '2'"), ("/* x", "1:1 this comment has no end"),
        ("/ x", "1:1 a comment begins with // or /*"), ("012", "1:1 a number does not begin with 0"),
        ("-", "1:2 expected a digit, but the file ends here"), ("1e", "1:3 expected a digit, but the file ends here"),
        ("0x", "1:3 expected a hexadecimal digit, but the file ends here"), ("-Inf", "1:1 expected a number"),
        (#"'\1'"#, #"1:2 no such escape: '\1'"#), (#"'\u12'"#, "1:6 expected 4 hexadecimal digits, found '''"),
        (#"'\uD800'"#, "1:1 half of a surrogate pair in this text"),
        (String(repeating: "[", count: 40), "1:33 nested deeper than 32"),
    ])
    func `a syntax error has a position and a reason`(text: String, expected: String) {
        let error = #expect(throws: JSON5SyntaxError.self) { try JSON5Parser.value(of: Array(text.utf8)) }
        let described = error.map { error in
            "\(error.position.line):\(error.position.column) \(error.reason)" + (error.hint.map { "; \($0)" } ?? "")
        }
        #expect(described == expected)
    }

    @Test(arguments: ["\n", "\r\n", "\r"])
    func `bytes outside UTF-8 are reported with their position`(lineEnd: String) {
        let error = #expect(throws: JSON5SyntaxError.self) {
            try JSON5Parser.value(of: Array("{\(lineEnd) é: '".utf8) + [0xFF] + Array("'}".utf8))
        }
        #expect(error?.position == SourcePosition(line: 2, column: 6))
    }

    @Test(arguments: 0..<200)
    func `no truncated and no changed file makes the reader trap`(seed: Int) throws {
        let text = Array(
            """
            {
              version: 1,
              routes: {
                default: {
                  url: "https://api.example.com/v1/{type}",
                  timeouts: { connect: "5s", total: "1m" },
                  classify: { "404": "defer", "520-599": "hold", tls: "hold" },
                },
                // a value that is worth a few tries only
                telemetry: { retry: { base: '1s', multiplier: 3, max: "1m", attempts: 5 }, headers: { "X-Source": null } },
              },
            }
            """.utf8)
        var generator = SplitMix(state: UInt64(seed))
        var bytes = Array(text.prefix(Int.random(in: 0...text.count, using: &generator)))
        for _ in 0..<3 where !bytes.isEmpty {
            bytes[Int.random(in: bytes.indices, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
        }
        do throws(ConfigurationErrors) {
            _ = try ConfigurationFile.read(bytes, name: "f", directory: "/")
        } catch {
            #expect(!error.errors.isEmpty && error.errors.allSatisfy { $0.line > 0 && $0.column > 0 })
        }
    }

    private struct SplitMix: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }
}
