import Policy

/// The reason why a secret cannot be used, as a predicate for `the secret 'api' …`. Never contains any of its content.
struct SecretDefect: Error, Hashable, Sendable, CustomStringConvertible {
    let description: String
    /// The shortest time after which the secret may be there; `nil` if a person must repair the secret.
    var delay: Duration?

    static let notConfigured = SecretDefect(description: "is not configured")
}

extension SecretDefect {
    /// - Parameters:
    ///   - place: `the environment variable 'API_TOKEN'`.
    ///   - reason: the defect of the place: `is not set`.
    init(place: String, reason: String, delay: Duration? = nil) {
        self.init(description: "comes from \(escapedForDisplay(place)), which \(reason)", delay: delay)
    }

    /// Returns the secret in these bytes: one line of text, without the line breaks at its end, and without the byte
    /// order mark that an editor may have put at its start.
    static func check(_ bytes: [UInt8], from place: String) throws(SecretDefect) -> String {
        let isLineBreak: (UInt8) -> Bool = { $0 == 0x0A || $0 == 0x0D }
        let text = bytes.dropFirst(bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0)
        let line = text.prefix { !isLineBreak($0) }
        let rest = text.dropFirst(line.count)
        let reason: String
        if bytes.count > SecretFile.limit {
            reason = "has more than \(SecretFile.limit / 1024) KB in it"
        } else if !rest.allSatisfy(isLineBreak) {
            reason = "has more than one line in it"
        } else if line.isEmpty {
            reason = "is empty"
        } else if let text = String(validating: line, as: UTF8.self) {
            if SecretSource.isText(text) { return text }
            reason = "has control characters in it"
        } else {
            reason = "has something other than UTF-8 in it"
        }
        throw SecretDefect(place: place, reason: reason)
    }
}
