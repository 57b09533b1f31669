extension HeaderField {
    /// The reason that a header field cannot be sent.
    package enum Defect: Hashable, Sendable, CustomStringConvertible {
        /// Not a token (RFC 9110 §5.6.2).
        case name
        /// CR, LF, NUL or another control character: it could smuggle in a second field or request.
        case value
        /// drainq or the transport sets the field.
        case reserved

        package var description: String {
            switch self {
            case .name: "has a name that is not a token"
            case .value: "has a value with control characters"
            case .reserved: "is not for users to set"
            }
        }
    }

    /// The fields of the connection, which its transport writes. A second one breaks the request, or splits it in two.
    private static let namesOfTransport: [StaticString] = [
        "host", "content-length", "transfer-encoding", "connection", "keep-alive", "proxy-connection", "expect",
        "accept-encoding", "te", "trailer", "upgrade",
    ]

    /// The fields in which drainq describes an attempt (a user sets `idempotencyKey` instead).
    private static let namesOfDrainq: [StaticString] = ["idempotency-key", "drainq-attempt"]

    /// The defect of a field that a user wants to send; `nil` if it can be sent as it is.
    package var defect: Defect? { Self.namesOfDrainq.contains(where: isNamed) ? .reserved : defectInRequest }

    /// The defect of a field in a request that goes to a transport; `nil` if it can be sent.
    package var defectInRequest: Defect? {
        if !name.isToken { return .name }
        if Self.namesOfTransport.contains(where: isNamed) { return .reserved }
        return Self.canSend(value: value) ? nil : .value
    }

    /// Whether the field has this name, ignoring the case of ASCII letters.
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
    /// Whether the text is one or more of the characters of a token (RFC 9110 §5.6.2).
    package var isToken: Bool {
        !isEmpty
            && utf8.allSatisfy { byte in
                byte.isIdentifierByte || "!#$%&'*+.^`|~".utf8.contains(byte)
            }
    }
}

extension UInt8 {
    /// The byte in lower case if it is an ASCII letter; else the byte itself.
    package var asciiLowercased: UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self
    }
}
