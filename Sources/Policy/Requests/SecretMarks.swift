/// Marks in place of secrets, for a request that is made only to be shown.
///
/// A mark has only letters and digits, which no place of a template escapes, and its Base64 too. It begins with a
/// random number, so a text of a user that looks like a mark is none.
package struct SecretMarks: Sendable {
    /// The beginning of each mark: 18 bytes, so that its Base64 is the beginning of the Base64 of the mark.
    private let start: [UInt8]
    /// Ends the name, whose digits are hexadecimal.
    private static let end = UInt8(ascii: "z")

    package init(using generator: inout some RandomNumberGenerator) {
        let number: UInt64 = generator.next()
        let digits = String(number, radix: 16)
        start = Array("z\(String(repeating: "0", count: 16 - digits.count))\(digits)z".utf8)
    }

    /// Returns the marks in place of the secrets of these names.
    package func values(_ names: Set<String>) -> SecretValues {
        SecretValues(values: Dictionary(uniqueKeysWithValues: names.map { ($0, mark(of: $0)) }))
    }

    private func mark(of name: String) -> String {
        let mark = start + SHA256.hexadecimal(Array(name.utf8)).utf8
        return String(decoding: mark + repeatElement(Self.end, count: 3 - mark.count % 3), as: UTF8.self)
    }

    /// Whether these bytes contain a mark, or the Base64 of a mark.
    package func occur(in bytes: [UInt8]) -> Bool {
        bytes.firstRange(of: start) != nil || bytes.firstRange(of: Base64.encode(start).utf8) != nil
    }

    func named(_ text: String) -> NamedText { named(Array(text.utf8)) }

    /// Returns the bytes with names in place of marks.
    func named(_ bytes: [UInt8]) -> NamedText {
        if let basic = named(basic: bytes) { return basic }
        var parts: [NamedText.Part] = []
        var rest = bytes[...]
        let encoded = Array(Base64.encode(start).utf8)
        while let mark = [start, encoded].compactMap({ rest.firstRange(of: $0) }).min(by: {
            $0.lowerBound < $1.lowerBound
        }) {
            let isEncoded = mark.count == encoded.count
            let letters = isEncoded ? rest[mark.lowerBound...].prefix(while: Base64.isLetter) : rest[mark.lowerBound...]
            let text = isEncoded ? Base64.decodeLeniently(letters.prefix(letters.count / 4 * 4)) ?? [] : Array(letters)
            let digits = text.dropFirst(start.count).prefix { $0 != Self.end }
            let length = start.count + digits.count + 3 - (start.count + digits.count) % 3
            if mark.lowerBound > rest.startIndex { parts.append(.bytes(Array(rest[..<mark.lowerBound]))) }
            let name = NamedText.Part.secret(Self.text(ofDigits: digits))
            parts.append(isEncoded ? .base64([name]) : name)
            rest = rest[mark.lowerBound...].dropFirst(isEncoded ? length / 3 * 4 : length)
        }
        if !rest.isEmpty { parts.append(.bytes(Array(rest))) }
        return NamedText(parts: parts)
    }

    /// Returns the credentials of Basic authentication with names in place of marks; `nil` if the bytes are none.
    private func named(basic bytes: [UInt8]) -> NamedText? {
        let scheme = Array("Basic ".utf8)
        guard bytes.starts(with: scheme), let user = Base64.decodeLeniently(Array(bytes.dropFirst(scheme.count))),
            occur(in: user)
        else { return nil }
        return NamedText(parts: [.bytes(scheme), .base64(named(user).parts)])
    }

    private static func text(ofDigits digits: ArraySlice<UInt8>) -> String {
        var bytes: [UInt8] = []
        var rest = digits
        while rest.count >= 2 {
            bytes.append(UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) ?? 0)
            rest = rest.dropFirst(2)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
