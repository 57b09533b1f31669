/// An operation's id: 1–64 of `A-Z a-z 0-9 _ -`, so it is a legal part of a file name on every file system.
package struct OperationID: Hashable, Sendable, Comparable, CustomStringConvertible {
    package let description: String

    package init?(_ text: String) {
        guard (1...64).contains(text.utf8.count), text.utf8.allSatisfy(\.isIdentifierByte) else { return nil }
        description = text
    }

    package init?(_ text: Substring) { self.init(String(text)) }

    package static func < (left: OperationID, right: OperationID) -> Bool {
        left.description.utf8.lexicographicallyPrecedes(right.description.utf8)
    }
}

/// A type: the routing name of an operation, 1–64 of `A-Z a-z 0-9 _ - .`, not starting with a dot.
package struct TypeName: Hashable, Sendable, Comparable, CustomStringConvertible {
    package let description: String

    /// The type of an operation that names none.
    package static let `default` = TypeName("default")!

    package init?(_ text: String) {
        guard (1...64).contains(text.utf8.count), text.utf8.first != UInt8(ascii: "."),
            text.utf8.allSatisfy({ $0.isIdentifierByte || $0 == UInt8(ascii: ".") })
        else { return nil }
        description = text
    }

    package init?(_ text: Substring) { self.init(String(text)) }

    package static func < (left: TypeName, right: TypeName) -> Bool {
        left.description.utf8.lexicographicallyPrecedes(right.description.utf8)
    }
}

extension UInt8 {
    var isIdentifierByte: Bool {
        switch self {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default:
            false
        }
    }
}
