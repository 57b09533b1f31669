/// Conversions between JSON scalars and text.
package enum JSONText {
    /// Appends the text in quotes, escaped as little as RFC 8259 §7 allows.
    package static func append(_ text: String, to bytes: inout [UInt8]) { append(text.utf8, to: &bytes) }

    private static func append(_ text: some Sequence<UInt8>, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(byte)
            case UInt8(ascii: "\n"): bytes.append(contentsOf: "\\n".utf8)
            case UInt8(ascii: "\r"): bytes.append(contentsOf: "\\r".utf8)
            case UInt8(ascii: "\t"): bytes.append(contentsOf: "\\t".utf8)
            case 0..<0x20: bytes.append(contentsOf: escape(UInt16(byte)).utf8)
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Returns the text as a JSON string, in its quotes.
    package static func quoted(_ text: String) -> String {
        var bytes: [UInt8] = []
        append(text, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns a text in UTF-8 as a JSON string, in its quotes.
    static func quoted(_ text: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count + 2)
        append(text, to: &bytes)
        return bytes
    }

    /// Escapes everything in the JSON that could steer a terminal (`escapedForDisplay`). Such characters must occur
    /// only inside JSON strings: remove line breaks between tokens before.
    package static func escapedJSONForDisplay(_ json: String) -> String {
        guard json.unicodeScalars.contains(where: \.isUnsafeForDisplay) else { return json }
        return json.unicodeScalars.map { scalar in
            scalar.isUnsafeForDisplay ? String(scalar).utf16.map(escape).joined() : String(scalar)
        }.joined()
    }

    /// Returns the text of the string at `range`; `nil` if there is no string.
    package static func string(_ bytes: [UInt8], _ range: Range<Int>) -> String? {
        guard range.count >= 2, bytes[range.lowerBound] == UInt8(ascii: "\"") else { return nil }
        return JSONScanner.text(of: bytes, in: range)
    }

    /// Returns the whole number at `range`; `nil` for a fraction, an exponent or anything else.
    package static func integer(_ bytes: [UInt8], _ range: Range<Int>) -> Int? {
        Int(String(decoding: bytes[range], as: UTF8.self))
    }

    private static func escape(_ unit: UInt16) -> String {
        let digits = String(unit, radix: 16)
        return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }
}
