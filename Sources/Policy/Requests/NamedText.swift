/// A part of a request with names in place of secrets.
package struct NamedText: Hashable, Sendable {
    package indirect enum Part: Hashable, Sendable {
        case bytes([UInt8])
        /// The secret of this name, escaped for its place.
        case secret(String)
        /// The Base64 of a text with secrets.
        case base64([Part])
        /// A value computed from secrets.
        case signature
    }

    package var parts: [Part]

    /// Whether the whole text is known without a secret.
    package var isPlain: Bool { parts.allSatisfy { if case .bytes = $0 { true } else { false } } }

    /// The bytes, with `[secret NAME]` for a secret, `[Base64 of …]` and `[signature]` for a signature.
    package var bytes: [UInt8] {
        parts.flatMap { part in
            switch part {
            case .bytes(let bytes): bytes
            case .secret(let name): Array("[secret \(name)]".utf8)
            case .base64(let parts): Array("[Base64 of ".utf8) + NamedText(parts: parts).bytes + Array("]".utf8)
            case .signature: Array("[signature]".utf8)
            }
        }
    }
}
