import Policy

/// JSON scalars, each direction, on raw bytes.
enum JSONText {
    /// Appends the text in quotes, escaped as little as RFC 8259 §7 allows.
    static func append(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(byte)
            case UInt8(ascii: "\n"): bytes.append(contentsOf: "\\n".utf8)
            case UInt8(ascii: "\t"): bytes.append(contentsOf: "\\t".utf8)
            case 0..<0x20:
                let digits = Array("0123456789abcdef".utf8)
                bytes.append(contentsOf: "\\u00".utf8)
                bytes.append(digits[Int(byte >> 4)])
                bytes.append(digits[Int(byte & 15)])
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// The text that stands at `range`; `nil` if there is no string.
    static func string(_ bytes: [UInt8], _ range: Range<Int>) -> String? {
        guard range.count >= 2, bytes[range.lowerBound] == UInt8(ascii: "\"") else { return nil }
        return JSONScanner.text(of: bytes, in: range)
    }

    /// The whole number that stands at `range`; `nil` for a fraction, an exponent or anything else.
    static func integer(_ bytes: [UInt8], _ range: Range<Int>) -> Int? {
        Int(String(decoding: bytes[range], as: UTF8.self))
    }
}

/// Writes one object on one line, members in the order of the calls. Foundation's encoder has no order of the caller's and
/// takes no JSON that is written already.
struct OrderedJSONLine {
    private(set) var bytes: [UInt8] = [UInt8(ascii: "{")]

    mutating func member(_ name: String, _ value: String?) {
        guard let value else { return }
        self.name(name)
        JSONText.append(value, to: &bytes)
    }

    mutating func member(_ name: String, _ value: Int?) {
        guard let value else { return }
        self.name(name)
        bytes.append(contentsOf: String(value).utf8)
    }

    mutating func member(_ name: String, raw json: some Sequence<UInt8>) {
        self.name(name)
        bytes.append(contentsOf: json)
    }

    /// With the brace and the newline that end it.
    consuming func ended() -> [UInt8] {
        bytes.append(UInt8(ascii: "}"))
        bytes.append(UInt8(ascii: "\n"))
        return bytes
    }

    private mutating func name(_ name: String) {
        if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
        JSONText.append(name, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
    }
}
