/// Marks in place of secrets, for a request that is made only to be shown.
///
/// A mark has only unreserved characters (RFC 3986 §2.3), which no place of a template escapes. It begins with a random
/// number, so a text of a user that looks like a mark is none.
package struct SecretMarks: Sendable {
    /// The beginning of each mark. The name of the secret and `end` follow.
    private let start: [UInt8]
    /// Occurs in no name.
    private static let end = UInt8(ascii: "~")

    package init(using generator: inout some RandomNumberGenerator) {
        let number: UInt64 = generator.next()
        start = Array("\(String(number, radix: 16))~".utf8)
    }

    /// Returns the marks in place of the secrets of these names.
    package func values(_ names: Set<String>) -> SecretValues {
        let beginning = String(decoding: start, as: UTF8.self)
        return SecretValues(values: Dictionary(uniqueKeysWithValues: names.map { ($0, "\(beginning)\($0)~") }))
    }

    /// Whether these bytes contain a mark.
    package func occur(in bytes: [UInt8]) -> Bool { bytes.firstRange(of: start) != nil }

    /// Returns the bytes with names in place of marks.
    func named(_ bytes: [UInt8]) -> NamedText {
        var parts: [NamedText.Part] = []
        var rest = bytes[...]
        while let mark = rest.firstRange(of: start), let end = rest[mark.upperBound...].firstIndex(of: Self.end) {
            if mark.lowerBound > rest.startIndex { parts.append(.bytes(Array(rest[..<mark.lowerBound]))) }
            parts.append(.secret(String(decoding: rest[mark.upperBound..<end], as: UTF8.self)))
            rest = rest[(end + 1)...]
        }
        if !rest.isEmpty { parts.append(.bytes(Array(rest))) }
        return NamedText(parts: parts)
    }
}
