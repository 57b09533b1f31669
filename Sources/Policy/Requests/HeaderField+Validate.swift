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

    /// Lower case. The first row belongs to the connection, the second to `drainq` (`idempotencyKey` is a field of its own).
    private static let reservedNames: Set<String> = [
        "host", "content-length", "transfer-encoding", "connection", "keep-alive", "proxy-connection", "expect",
        "accept-encoding", "te", "trailer", "upgrade",
        "idempotency-key", "drainq-attempt",
    ]

    /// The defect of a field that a user wants to send; `nil` if it can be sent as it is.
    package var defect: Defect? {
        if !name.isToken { return .name }
        if Self.reservedNames.contains(name.lowercased()) { return .reserved }
        return Self.canSend(value: value) ? nil : .value
    }

    static func canSend(value: String) -> Bool {
        value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
    }
}

extension String {
    /// One or more of the characters of a token (RFC 9110 §5.6.2).
    var isToken: Bool {
        !isEmpty
            && utf8.allSatisfy { byte in
                byte.isIdentifierByte || "!#$%&'*+.^`|~".utf8.contains(byte)
            }
    }
}
