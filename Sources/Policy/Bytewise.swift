/// A text, or several, equal to another if its bytes are. Swift compares texts by canonical equivalence: "é" in one
/// code point and in two is one text for `String.==`, and two in a request, in a path and in a password.
///
/// For the properties that decide where a request goes, with whose credentials, and which operations share it. A type
/// with such properties compares their bytes; of a single one, compare `$property`.
@propertyWrapper
package struct Bytewise<Value: TextValue>: Hashable, Sendable {
    package var wrappedValue: Value
    package var projectedValue: Bytewise<Value> { self }

    package init(wrappedValue: Value) { self.wrappedValue = wrappedValue }

    package static func == (left: Bytewise, right: Bytewise) -> Bool {
        left.wrappedValue.hasBytes(of: right.wrappedValue)
    }

    package func hash(into hasher: inout Hasher) { wrappedValue.hashBytes(into: &hasher) }
}

/// A value made of texts.
package protocol TextValue: Sendable {
    /// Whether the texts of both have the same bytes.
    func hasBytes(of other: Self) -> Bool
    func hashBytes(into hasher: inout Hasher)
}

extension String: TextValue {
    package func hasBytes(of other: String) -> Bool {
        let isEqual = utf8.withContiguousStorageIfAvailable { text in
            other.utf8.withContiguousStorageIfAvailable { other in
                // Without an end at the first difference the loop takes many bytes at a time.
                text.count == other.count && text.indices.reduce(0) { $0 | (text[$1] ^ other[$1]) } == 0
            }
        }
        return isEqual.flatMap { $0 } ?? utf8.elementsEqual(other.utf8)
    }

    package func hashBytes(into hasher: inout Hasher) { hasher.combine(JSONName(self)) }
}

extension Optional: TextValue where Wrapped: TextValue {
    package func hasBytes(of other: Wrapped?) -> Bool {
        guard let self, let other else { return self == nil && other == nil }
        return self.hasBytes(of: other)
    }

    package func hashBytes(into hasher: inout Hasher) {
        hasher.combine(self == nil)
        self?.hashBytes(into: &hasher)
    }
}

/// Texts by names, which are identifiers in ASCII.
extension Dictionary: TextValue where Key == String, Value: TextValue {
    package func hasBytes(of other: [String: Value]) -> Bool {
        count == other.count
            && (isEmpty || allSatisfy { name, value in other[name].map { value.hasBytes(of: $0) } ?? false })
    }

    package func hashBytes(into hasher: inout Hasher) { hasher.combine(Set(keys)) }
}
