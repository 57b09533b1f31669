/// A JSON value for comparisons. Numbers are equal by value, texts by their characters, and objects by their members in
/// any order.
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
        self.init(valid: bytes[document.range])
    }

    /// Parses bytes in which a scanner has found one value. Of a repeated name the last counts; half a surrogate pair
    /// reads as U+FFFD.
    init(valid slice: ArraySlice<UInt8>) {
        var parser = Parser(bytes: Array(slice))
        self = parser.value()
    }

    /// An iterative parser. It trusts that a scanner has accepted the bytes.
    private struct Parser {
        private struct Container {
            var isObject: Bool
            var name = ""
            var elements: [JSONValue] = []
            var members: [JSONName: JSONValue] = [:]
        }

        let bytes: [UInt8]
        private var offset = 0
        private var open: [Container] = []

        init(bytes: [UInt8]) { self.bytes = bytes }

        mutating func value() -> JSONValue {
            while true {
                let byte = bytes[offset]
                let value: JSONValue
                switch byte {
                case UInt8(ascii: "{"), UInt8(ascii: "["):
                    offset += 1
                    open.append(Container(isObject: byte == UInt8(ascii: "{")))
                    continue
                case UInt8(ascii: "}"), UInt8(ascii: "]"):
                    offset += 1
                    let closed = open.removeLast()
                    value = closed.isObject ? .object(closed.members) : .array(closed.elements)
                case UInt8(ascii: "\""):
                    let text = string()
                    if !open.isEmpty, open[open.count - 1].isObject, skipColon() {
                        open[open.count - 1].name = text
                        continue
                    }
                    value = .string(text)
                case UInt8(ascii: "t"): value = .bool(word() == "true")
                case UInt8(ascii: "f"): value = .bool(word() == "true")
                case UInt8(ascii: "n"):
                    _ = word()
                    value = .null
                case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): value = .number(word())
                // White space and commas.
                default:
                    offset += 1
                    continue
                }
                guard !open.isEmpty else { return value }
                if open[open.count - 1].isObject {
                    open[open.count - 1].members[JSONName(open[open.count - 1].name)] = value
                } else {
                    open[open.count - 1].elements.append(value)
                }
            }
        }

        private mutating func string() -> String {
            let start = offset
            offset += 1
            while bytes[offset] != UInt8(ascii: "\"") { offset += bytes[offset] == UInt8(ascii: "\\") ? 2 : 1 }
            offset += 1
            return JSONScanner.text(of: bytes, in: start..<offset, repairing: true) ?? ""
        }

        /// Skips a colon. Returns true behind a name: a colon never follows a value.
        private mutating func skipColon() -> Bool {
            var next = offset
            while next < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[next]) { next += 1 }
            guard next < bytes.count, bytes[next] == UInt8(ascii: ":") else { return false }
            offset = next + 1
            return true
        }

        private mutating func word() -> String {
            let start = offset
            while offset < bytes.count, bytes[offset].isIdentifierByte || "+.".utf8.contains(bytes[offset]) {
                offset += 1
            }
            return String(decoding: bytes[start..<offset], as: UTF8.self)
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
