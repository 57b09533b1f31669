extension HeaderField {
    /// The reason why a header field cannot be sent.
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
            case .reserved: "is one that drainq writes itself"
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

    /// The defect of a field that a user wants to send; `nil` if the field can be sent unchanged.
    package var defect: Defect? { Self.namesOfDrainq.contains(where: { isNamed($0) }) ? .reserved : defectInRequest }

    /// The defect of a field in a request that goes to a transport; `nil` if it can be sent.
    package var defectInRequest: Defect? {
        if !name.isToken { return .name }
        if Self.namesOfTransport.contains(where: { isNamed($0) }) { return .reserved }
        return Self.canSend(value: value) ? nil : .value
    }

    /// Whether the field has this name, ignoring the case of ASCII letters.
    package func isNamed(_ other: StaticString) -> Bool {
        guard name.utf8.count == other.utf8CodeUnitCount else { return false }
        return other.withUTF8Buffer { isNamed($0) }
    }

    /// Whether the field has this name, ignoring the case of ASCII letters.
    package func isNamed(_ other: String) -> Bool {
        guard name.utf8.count == other.utf8.count else { return false }
        var other = other
        return other.withUTF8 { isNamed($0) }
    }

    private func isNamed(_ other: UnsafeBufferPointer<UInt8>) -> Bool {
        var name = name
        return name.withUTF8 { name in
            name.count == other.count
                && name.indices.allSatisfy { name[$0].asciiLowercased == other[$0].asciiLowercased }
        }
    }

    /// Whether a transport can send the value: it has no control characters but tabs.
    package static func canSend(value: String) -> Bool {
        var value = value
        return value.withUTF8 { canSend(value: $0) }
    }

    static func canSend(value: some Sequence<UInt8>) -> Bool {
        value.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
    }
}

extension String {
    /// Whether the text is one or more of the characters of a token (RFC 9110 §5.6.2).
    package var isToken: Bool {
        var text = self
        return text.withUTF8 { !$0.isEmpty && $0.allSatisfy(\.isTokenByte) }
    }
}

extension UInt8 {
    /// Whether the byte is one of `A-Z a-z 0-9 _ -` or ``!#$%&'*+.^`|~``.
    fileprivate var isTokenByte: Bool {
        let low: UInt64 = 0x03FF_6CFA_0000_0000 &>> UInt64(self & 63)
        let high: UInt64 = 0x57FF_FFFF_C7FF_FFFE &>> UInt64(self & 63)
        return self < 128 && (self &>> 6 == 0 ? low : high) & 1 == 1
    }

    /// The byte in lower case if it is an ASCII letter; else the byte itself.
    package var asciiLowercased: UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self
    }
}
