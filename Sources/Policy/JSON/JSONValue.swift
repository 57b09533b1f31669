/// A JSON value for comparisons: of numbers by value, of texts by characters, of objects by members in any order.
package indirect enum JSONValue: Sendable {
    case null
    case bool(Bool)
    /// The number as written, so no digit is lost.
    case number(String)
    case string(String)
    case array([JSONValue])
    case object([JSONName: JSONValue])
}

extension JSONValue {
    /// Parses bytes that hold exactly one value, at most `JSONScanner.maximumDepth` deep.
    package init(_ bytes: [UInt8]) throws(JSONSyntaxError) {
        let document = try JSONDocument(bytes)
        self.init(valid: bytes, in: document.range)
    }

    /// Reads the value that a scanner has found. Of a repeated name the last counts; half a surrogate pair is U+FFFD.
    init(valid bytes: [UInt8], in range: Range<Int>) {
        func text(_ range: Range<Int>) -> String { JSONScanner.text(of: bytes, in: range, repairing: true) ?? "" }
        // A scanner has accepted the bytes, so none throws here.
        switch bytes[range.lowerBound] {
        case UInt8(ascii: "{"):
            var members: [JSONName: JSONValue] = [:]
            _ = try? JSONScanner.forEachMember(of: bytes, in: range) { name, value, _ in
                members[JSONName(text(name))] = JSONValue(valid: bytes, in: value)
            }
            self = .object(members)
        case UInt8(ascii: "["):
            var elements: [JSONValue] = []
            _ = try? JSONScanner.forEachElement(of: bytes, in: range) {
                elements.append(JSONValue(valid: bytes, in: $0))
            }
            self = .array(elements)
        case UInt8(ascii: "\""): self = .string(text(range))
        case UInt8(ascii: "t"): self = .bool(true)
        case UInt8(ascii: "f"): self = .bool(false)
        case UInt8(ascii: "n"): self = .null
        default: self = .number(String(decoding: bytes[range], as: UTF8.self))
        }
    }
}

extension JSONValue: Hashable {
    package static func == (left: JSONValue, right: JSONValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.number(let left), .number(let right)):
            left == right || JSONNumber(left).map { $0 == JSONNumber(right) } ?? false
        // Compares code points, which the wire has (RFC 8259 §8.3), and not canonical equivalents.
        case (.string(let left), .string(let right)): left.utf8.elementsEqual(right.utf8)
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)): left == right
        default: false
        }
    }

    package func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0)
        case .bool(let value): hasher.combine(value)
        case .number(let text):
            if let number = JSONNumber(text) { hasher.combine(number) } else { hasher.combine(text) }
        case .string(let text): hasher.combine(JSONName(text))
        case .array(let elements): hasher.combine(elements)
        case .object(let members): hasher.combine(members)
        }
    }
}

extension JSONValue: CustomStringConvertible {
    /// Compact JSON; members in the order of their names.
    package var description: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .number(let text): text
        case .string(let text): JSONText.quoted(text)
        case .array(let elements): "[" + elements.map(\.description).joined(separator: ",") + "]"
        case .object(let members):
            "{"
                + members.sorted { $0.key < $1.key }.map { "\(JSONText.quoted($0.key.text)):\($0.value)" }
                .joined(separator: ",") + "}"
        }
    }
}
