extension JSONScanner {
    /// Returns the name of a member that a scanner has found at `range`, quotes included. Throws if it is not valid.
    package static func name(of bytes: [UInt8], in range: Range<Int>) throws(JSONSyntaxError) -> String {
        guard let name = text(of: bytes, in: range) else {
            let isUTF8 = String(validating: bytes[range], as: UTF8.self) != nil
            throw JSONSyntaxError(
                offset: range.lowerBound, reason: "the name is not valid " + (isUTF8 ? "text" : "UTF-8"))
        }
        return name
    }

    /// Returns the text of a string that a scanner has found at `range`, quotes included.
    ///
    /// Half a surrogate pair is no text: returns `nil`, or U+FFFD for it if `repairing`.
    package static func text(of bytes: [UInt8], in range: Range<Int>, repairing: Bool = false) -> String? {
        let inner = bytes[range.lowerBound + 1..<range.upperBound - 1]
        if !inner.contains(UInt8(ascii: "\\")) {
            return repairing ? String(decoding: inner, as: UTF8.self) : String(validUTF8: inner)
        }
        var decoded: [UInt8] = []
        decoded.reserveCapacity(inner.count)
        var place = inner.startIndex
        while place < inner.endIndex {
            let byte = inner[place]
            place += 1
            guard byte == UInt8(ascii: "\\") else {
                decoded.append(byte)
                continue
            }
            let escape = inner[place]
            place += 1
            switch escape {
            case UInt8(ascii: "b"): decoded.append(0x08)
            case UInt8(ascii: "f"): decoded.append(0x0C)
            case UInt8(ascii: "n"): decoded.append(0x0A)
            case UInt8(ascii: "r"): decoded.append(0x0D)
            case UInt8(ascii: "t"): decoded.append(0x09)
            case UInt8(ascii: "u"):
                var unit = hexValue(of: inner[place..<place + 4])
                place += 4
                if (0xD800..<0xDC00).contains(unit), place + 6 <= inner.endIndex,
                    inner[place] == UInt8(ascii: "\\"), inner[place + 1] == UInt8(ascii: "u")
                {
                    let low = hexValue(of: inner[place + 2..<place + 6])
                    if (0xDC00..<0xE000).contains(low) {
                        unit = 0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00)
                        place += 6
                    }
                }
                if !repairing, Unicode.Scalar(unit) == nil { return nil }
                decoded += String(Unicode.Scalar(unit) ?? "\u{FFFD}").utf8
            default: decoded.append(escape)
            }
        }
        return repairing ? String(decoding: decoded, as: UTF8.self) : String(validating: decoded, as: UTF8.self)
    }

    private static func hexValue(of digits: ArraySlice<UInt8>) -> UInt32 {
        digits.reduce(0) { $0 << 4 | UInt32($1 < UInt8(ascii: "A") ? $1 & 15 : ($1 & 15) + 9) }
    }
}
