/// A place in a JSON document (RFC 6901): `""` is the whole, `/result/success` a member of a member.
package struct JSONPointer: Hashable, Sendable, CustomStringConvertible {
    /// Unescaped.
    package let tokens: [String]

    package init(tokens: [String]) {
        self.tokens = tokens
    }

    /// The text of RFC 6901 §3: empty, or beginning with `/`, with `~0` for `~` and `~1` for `/`; else `nil`.
    package init?(_ text: some StringProtocol) {
        if text.isEmpty {
            tokens = []
            return
        }
        guard text.first == "/" else { return nil }
        var tokens: [String] = []
        for part in text.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
            var token = ""
            var rest = part[...]
            while let tilde = rest.firstIndex(of: "~") {
                token += rest[..<tilde]
                let after = rest.index(after: tilde)
                guard after < rest.endIndex, rest[after] == "0" || rest[after] == "1" else { return nil }
                token += rest[after] == "0" ? "~" : "/"
                rest = rest[rest.index(after: after)...]
            }
            tokens.append(token + rest)
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
