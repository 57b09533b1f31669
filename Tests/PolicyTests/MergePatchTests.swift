import Testing

@testable import Policy

struct MergePatchTests {
    private static func merged(_ earlier: String, _ later: String) -> [UInt8]? {
        guard var patch = MergePatch(Array(earlier.utf8)), patch.merge(Array(later.utf8)) else { return nil }
        return patch.bytes
    }

    @Test(arguments: [
        (#"{"name":"A"}"#, #"{"email":"e"}"#, #"{"name":"A","email":"e"}"#),
        (#"{"a":1.10,"b":2}"#, #"{ "b" : 3e2 , "c":null }"#, #"{"a":1.10,"b":3e2,"c":null}"#),
        (#"{"a":{"x":1,"y":2}}"#, #"{"a":{"y":null}}"#, #"{"a":{"x":1,"y":null}}"#),
        (#"{"a":null}"#, #"{"a":1}"#, #"{"a":1}"#),
        (#"{"a":{"x":1}}"#, #"{"a":[1]}"#, #"{"a":[1]}"#),
        (#"{"a":1}"#, "[]", "[]"),
        (#"{"a":1}"#, "null", "null"),
        ("{}", "{}", "{}"),
        (#"{"\u0061":1}"#, #"{"a":2}"#, #"{"\u0061":2}"#),
        // Two names, although Swift's strings are equal.
        ("{\"\u{e9}\":1}", "{\"e\u{301}\":2}", "{\"\u{e9}\":1,\"e\u{301}\":2}"),
    ])
    func `two successive patches merge into a single patch`(earlier: String, later: String, merged: String) throws {
        let bytes = try #require(Self.merged(earlier, later))
        #expect(String(decoding: bytes, as: UTF8.self) == merged)
    }

    @Test(arguments: [
        // The merged object would extend the server's value instead of replacing the value.
        (#"{"a":null}"#, #"{"a":{"x":1}}"#), (#"{"a":1}"#, #"{"a":{}}"#), ("1", #"{"a":1}"#), ("[]", "{}"),
        (#"{"a":1,"a":2}"#, #"{"b":1}"#), (#"{"a":1}"#, #"{"b":1,"b":2}"#), ("{", "{}"), ("{}", ""), ("{}{}", "{}"),
    ])
    func `patches without an equivalent single patch are not merged`(earlier: String, later: String) {
        #expect(Self.merged(earlier, later) == nil)
    }

    /// RFC 7396 §2.
    private static func apply(_ patch: JSONValue, to target: JSONValue?) -> JSONValue {
        guard case .object(let members) = patch else { return patch }
        var result: [JSONName: JSONValue] = [:]
        if case .object(let old)? = target { result = old }
        for (name, value) in members {
            result[name] = value == .null ? nil : apply(value, to: result[name])
        }
        return .object(result)
    }

    private static func text(_ depth: Int, _ generator: inout SeededGenerator) -> String {
        let leaves = ["null", "1", "true", "[]"]
        if depth == 0 || Int.random(in: 0..<3, using: &generator) == 0 {
            return leaves.randomElement(using: &generator)!
        }
        let names = ["a", "b", "c"].filter { _ in Bool.random(using: &generator) }
        return "{" + names.map { "\"\($0)\":\(text(depth - 1, &generator))" }.joined(separator: ",") + "}"
    }

    @Test(arguments: 0..<300 as Range<UInt64>)
    func `a merged patch changes any document as its parts do`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let (earlier, later) = (Self.text(3, &generator), Self.text(3, &generator))
        guard let merged = Self.merged(earlier, later) else { return }
        func value(_ text: String) throws -> JSONValue { try JSONValue(Array(text.utf8)) }
        for _ in 0..<5 {
            let document = try value(Self.text(3, &generator))
            let both = Self.apply(try value(later), to: Self.apply(try value(earlier), to: document))
            #expect(Self.apply(try JSONValue(merged), to: document) == both, "\(earlier) \(later)")
        }
    }
}
