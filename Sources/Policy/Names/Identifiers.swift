/// An operation's id: 1–64 of `A-Z a-z 0-9 _ -`, so it is a legal part of a file name on every file system.
package struct OperationID: Hashable, Sendable, Comparable, CustomStringConvertible {
    package let description: String

    package init?(_ text: String) {
        var text = text
        guard text.withUTF8({ (1...64).contains($0.count) && $0.allSatisfy(\.isIdentifierByte) }) else { return nil }
        description = text
    }

    /// Takes bytes that are known to be an id.
    init(checked bytes: UnsafeBufferPointer<UInt8>) { description = String(decoding: bytes, as: UTF8.self) }

    /// Whether a command line can name the operation: as an operand, `-` alone reads names from standard input.
    package var canBeNamed: Bool { description != "-" }

    /// Compares the bytes, which are all ASCII.
    package static func < (left: OperationID, right: OperationID) -> Bool {
        left.description < right.description
    }
}

extension OperationID: Codable {
    package init(from decoder: any Decoder) throws { self = try decoder.text(OperationID.init) }

    package func encode(to encoder: any Encoder) throws {
        try description.encode(to: encoder)
    }
}

/// A type: the routing name of an operation, 1–64 of `A-Z a-z 0-9 _ - .`, not starting with a dot.
package struct TypeName: Hashable, Sendable, Comparable, CustomStringConvertible {
    package let description: String

    /// The type of an operation that names none.
    package static let `default` = TypeName("default")!

    package init?(_ text: String) {
        var text = text
        guard text.withUTF8({ Self.allows($0) }) else { return nil }
        description = text
    }

    static func allows(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        (1...64).contains(bytes.count) && bytes[0] != UInt8(ascii: ".")
            && bytes.allSatisfy { $0.isIdentifierByte || $0 == UInt8(ascii: ".") }
    }

    /// Takes bytes that are known to be a type.
    init(checked bytes: UnsafeBufferPointer<UInt8>) { description = String(decoding: bytes, as: UTF8.self) }

    /// Compares the bytes, which are all ASCII.
    package static func < (left: TypeName, right: TypeName) -> Bool { left.description < right.description }
}

extension UInt8 {
    /// Whether the byte is one of `A-Z a-z 0-9 _ -`. Branch-free: a million names have 36 such bytes each, letters and
    /// digits by chance, so a branch between the halves of the table is unpredictable.
    package var isIdentifierByte: Bool {
        let low: UInt64 = 0x03FF_2000_0000_0000 &>> UInt64(self & 63)
        let high: UInt64 = 0x07FF_FFFE_87FF_FFFE &>> UInt64(self & 63)
        return self < 128 && (self &>> 6 == 0 ? low : high) & 1 == 1
    }
}
