/// A place in a JSON document (RFC 6901): `""` is the whole document, `/result/success` a member of a member.
///
/// Two pointers are equal if their code points are, like the names of members.
package struct JSONPointer: Hashable, Sendable, CustomStringConvertible {
    /// The unescaped tokens.
    package let tokens: [String]

    package static func == (left: JSONPointer, right: JSONPointer) -> Bool {
        left.tokens.elementsEqual(right.tokens) { JSONName($0) == JSONName($1) }
    }

    package func hash(into hasher: inout Hasher) {
        for token in tokens { hasher.combine(JSONName(token)) }
    }

    package init(tokens: [String]) { self.tokens = tokens }

    /// Parses the text of RFC 6901 §3: empty, or beginning with `/`, with `~0` for `~` and `~1` for `/`; else `nil`.
    package init?(_ text: some StringProtocol) {
        if text.isEmpty {
            tokens = []
            return
        }
        // Compares bytes: a combining mark behind a slash would make another character of it.
        guard text.utf8.first == UInt8(ascii: "/") else { return nil }
        var tokens: [String] = []
        for part in text.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            var token: [UInt8] = []
            var rest = part[...]
            while let tilde = rest.firstIndex(of: UInt8(ascii: "~")) {
                token += rest[..<tilde]
                switch rest[tilde...].dropFirst().first {
                case UInt8(ascii: "0")?: token.append(UInt8(ascii: "~"))
                case UInt8(ascii: "1")?: token.append(UInt8(ascii: "/"))
                default: return nil
                }
                rest = rest[tilde...].dropFirst(2)
            }
            tokens.append(String(decoding: token + rest, as: UTF8.self))
        }
        self.tokens = tokens
    }

    package var description: String {
        tokens.map { token in
            var escaped = "/"
            for character in token.unicodeScalars {
                switch character {
                case "~": escaped += "~0"
                case "/": escaped += "~1"
                default: escaped.unicodeScalars.append(character)
                }
            }
            return escaped
        }.joined()
    }
}
