extension HeaderField {
    /// Why a header field cannot be sent.
    package enum Defect: Hashable, Sendable, CustomStringConvertible {
        /// Not a token (RFC 9110 §5.6.2).
        case name
        /// CR, LF, NUL or another control character: it could smuggle in a second field or request.
        case value
        /// The program or the transport sets it.
        case reserved

        package var description: String {
            switch self {
            case .name: "has a name that is not a token"
            case .value: "has a value with control characters"
            case .reserved: "is not for users to set"
            }
        }
    }

    /// They belong to the connection, whose transport writes them: a second one breaks the request, or makes two of it.
    private static let namesOfTransport: [StaticString] = [
        "host", "content-length", "transfer-encoding", "connection", "keep-alive", "proxy-connection", "expect",
        "accept-encoding", "te", "trailer", "upgrade",
    ]

    /// What drainq says of an attempt (`idempotencyKey` is a field of its own).
    private static let namesOfDrainq: [StaticString] = ["idempotency-key", "drainq-attempt"]

    /// The defect of a field that a user wants to send; `nil` if it can be sent as it is.
    package var defect: Defect? { Self.namesOfDrainq.contains(where: isNamed) ? .reserved : defectInRequest }

    /// The defect of a field of a request as it goes to a transport.
    package var defectInRequest: Defect? {
        if !name.isToken { return .name }
        if Self.namesOfTransport.contains(where: isNamed) { return .reserved }
        return Self.canSend(value: value) ? nil : .value
    }

    /// Whether the name is this one, whatever the case of its letters.
    package func isNamed(_ other: StaticString) -> Bool {
        other.withUTF8Buffer { other in
            name.utf8.count == other.count
                && zip(name.utf8, other).allSatisfy { $0.asciiLowercased == $1.asciiLowercased }
        }
    }

    static func canSend(value: String) -> Bool {
        value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
    }
}

extension String {
    /// One or more of the characters of a token (RFC 9110 §5.6.2).
    package var isToken: Bool {
        !isEmpty
            && utf8.allSatisfy { byte in
                byte.isIdentifierByte || "!#$%&'*+.^`|~".utf8.contains(byte)
            }
    }
}

extension UInt8 {
    /// A letter of ASCII in lower case; every other byte as it is.
    package var asciiLowercased: UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self
    }
}
