/// The name of a JSON member. Two names are equal if their code points are (RFC 8259 §8.3); Swift compares strings by
/// canonical equivalence, for which "é" in one code point and in two is one name.
package struct JSONName: Hashable, Comparable, Sendable, ExpressibleByStringLiteral {
    package let text: String

    package init(_ text: String) { self.text = text }

    package init(stringLiteral text: String) { self.init(text) }

    package static func == (left: JSONName, right: JSONName) -> Bool { left.text.hasBytes(of: right.text) }

    package static func < (left: JSONName, right: JSONName) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }

    package func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        // No UTF-8 text has this byte, so a sequence of names has one reading.
        hasher.combine(0xFF as UInt8)
    }
}

/// For `Codable` a name is the key of a member.
extension JSONName: CodingKey {
    package var stringValue: String { text }
    package var intValue: Int? { nil }

    package init(stringValue text: String) { self.init(text) }

    package init?(intValue: Int) { nil }
}
