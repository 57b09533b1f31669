/// Bytes that the system gave, mostly UTF-8: an argument of the program. They become a text only if they are one, and
/// else only a path: no header, URL, key or secret is made of them unchecked.
package struct RawText: Hashable, Sendable, ExpressibleByStringLiteral {
    package let bytes: [UInt8]

    package init(_ bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }

    /// Creates the bytes of a path or of another text.
    package init(_ text: String) { bytes = text.rawBytes }

    package init(stringLiteral text: String) { self.init(text) }

    /// The text; `nil` unless the bytes are UTF-8.
    package var text: String? {
        let text = path
        return text.carriesBytes ? nil : text
    }

    /// The path of these bytes, for system calls and messages alone.
    package var path: String { String(raw: bytes) }

    package func begins(with text: String) -> Bool { bytes.starts(with: text.utf8) }
}

/// Texts that carry any bytes: arguments, variables and paths are bytes, mostly UTF-8. A byte that belongs to no
/// character becomes the private scalar U+10FF00 + byte, U+10FF80 to U+10FFFF, and so does each byte of such a scalar
/// that is already in the text. `rawBytes` returns the bytes for the system; `escapedForDisplay` shows them as `\xNN`.
extension String {
    /// Creates a text that carries any bytes without loss.
    package init(raw bytes: some Collection<UInt8>) {
        let bytes = Array(bytes)
        if bytes.allSatisfy({ $0 < 0x80 }) {
            self = String(decoding: bytes, as: UTF8.self)
            return
        }
        if !bytes.contains(0xF4), let text = String(validating: bytes, as: UTF8.self) {
            self = text
            return
        }
        self = ""
        var place = 0
        while place < bytes.count {
            let length = bytes[place].lengthOfScalar
            let scalar = bytes[place...].prefix(length)
            if length > 0, !scalar.isCarrier, let text = String(validating: scalar, as: UTF8.self) {
                self += text
                place += length
            } else {
                unicodeScalars.append(Unicode.Scalar(0x10FF00 + UInt32(bytes[place]))!)
                place += 1
            }
        }
    }

    /// The bytes given to `init(raw:)`; for any other text, its UTF-8.
    package var rawBytes: [UInt8] {
        var bytes = Array(utf8)
        guard bytes.contains(0xF4) else { return bytes }
        var count = 0
        var place = 0
        while place < bytes.count {
            let isCarrier = bytes[place...].prefix(4).isCarrier
            bytes[count] = isCarrier ? 0x80 | bytes[place + 2] << 6 & 0x40 | bytes[place + 3] & 0x3F : bytes[place]
            count += 1
            place += isCarrier ? 4 : 1
        }
        bytes.removeLast(bytes.count - count)
        return bytes
    }

    /// Whether the text carries a byte that is not text. Only a path and a program's argument may.
    package var carriesBytes: Bool { unicodeScalars.contains { $0.carriedByte != nil } }

    /// The bytes for a system call, with a final NUL.
    package var rawCString: [CChar] { rawBytes.map { CChar(bitPattern: $0) } + [0] }
}

extension Unicode.Scalar {
    /// The byte that the scalar carries; `nil` for an ordinary scalar.
    var carriedByte: UInt8? { (0x10FF80...0x10FFFF).contains(value) ? UInt8(truncatingIfNeeded: value) : nil }
}

extension UInt8 {
    /// The number of bytes of a scalar that begins with this byte; 0 if none does.
    fileprivate var lengthOfScalar: Int {
        switch self {
        case ..<0x80: 1
        case 0xC2..<0xE0: 2
        case 0xE0..<0xF0: 3
        case 0xF0..<0xF5: 4
        default: 0
        }
    }
}

extension ArraySlice<UInt8> {
    /// Whether these four bytes are the UTF-8 of a scalar that carries a byte.
    fileprivate var isCarrier: Bool {
        count == 4 && self[startIndex] == 0xF4 && self[startIndex + 1] == 0x8F && self[startIndex + 2] & 0xFE == 0xBE
    }
}
