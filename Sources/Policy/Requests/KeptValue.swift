/// A part of an answer that later operations of the key send: a text, a number, `true` or `false`.
///
/// The value comes from a server, so its length is limited, and it contains no control character and no secret.
package struct KeptValue: Hashable, Sendable {
    /// The longest value, in bytes of UTF-8.
    package static let longest = 1024
    /// The upper bound of values that a route keeps.
    package static let mostOfRoute = 16

    /// The value as JSON; a number keeps the server's spelling.
    package let json: String

    /// Makes a value from a part of an answer, one JSON value. Throws the reason if it cannot be kept: `it is empty`.
    package init(valid written: ArraySlice<UInt8>) throws(KeepError) {
        switch written.first {
        case UInt8(ascii: "n"), UInt8(ascii: "["), UInt8(ascii: "{"), nil: throw .noScalar
        case UInt8(ascii: "\""):
            guard let text = JSONText.string(Array(written), 0..<written.count) else { throw .noText }
            json = try Self.json(of: text)
        default:
            if written.count > Self.longest { throw .tooLong }
            json = String(decoding: written, as: UTF8.self)
        }
    }

    package init(text: String) throws(KeepError) { json = try Self.json(of: text) }

    private static func json(of text: String) throws(KeepError) -> String {
        if text.isEmpty { throw .empty }
        if text.utf8.count > Self.longest { throw .tooLong }
        if text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) { throw .control }
        return JSONText.quoted(text)
    }

    /// Reads back a value from its `json`; `nil` for anything that cannot be kept.
    package init?(json bytes: some Collection<UInt8>) {
        let bytes = Array(bytes)
        guard let value = try? JSONDocument(bytes), let kept = try? KeptValue(valid: bytes[value.range]) else {
            return nil
        }
        self = kept
    }

    /// Whether the text can name a kept value in `keep` and `{kept.NAME}`: 1 to 64 letters, digits, `_` and `-`.
    package static func isName(_ text: some StringProtocol) -> Bool {
        (1...64).contains(text.utf8.count) && text.utf8.allSatisfy(\.isIdentifierByte)
    }
}

extension Route {
    /// Returns the text by which values are kept for an operation, and found again: the text of `chain`, or the
    /// operation's key. `nil` if the text is missing or empty.
    package func chain(of operation: Operation) throws(RequestError) -> String? {
        guard let chain else { return operation.header.key }
        let text = try Template(chain, for: .idempotencyKey, of: "chain").text(of: operation)
        return text.isEmpty ? nil : text
    }

    /// Returns the chain; `nil` also if the chain cannot be made: then the operation cannot be sent.
    package func chainOrNone(of operation: Operation) -> String? { try? chain(of: operation) }

    /// Returns the digest of `chainOrNone`.
    package func chainDigest(of operation: Operation) -> Digest? {
        chainOrNone(of: operation).map { Digest(of: $0) }
    }
}

/// The reason why a part of an answer is not kept.
package enum KeepError: Error, Hashable, Sendable, CustomStringConvertible {
    case missing
    case notJSON
    case cut
    case noScalar
    case noText
    case empty
    case tooLong
    case control
    case secret

    package var description: String {
        switch self {
        case .missing: "the answer has nothing there"
        case .notJSON: "the answer is not JSON"
        case .cut: "\(AnswerContent.Objection.cut)"
        case .noScalar: "it is neither text nor a number nor true or false"
        case .noText: "it has half a surrogate pair, which is no character"
        case .empty: "it is empty"
        case .tooLong: "it is longer than \(KeptValue.longest) bytes"
        case .control: "it contains a control character"
        case .secret: "it contains a secret of the request"
        }
    }
}
