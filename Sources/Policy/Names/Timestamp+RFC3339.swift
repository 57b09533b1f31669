/// The text of a time in files and reports.
extension Timestamp {
    /// Parses RFC 3339 §5.6: any offset, an optional fraction (cut after six digits), `t` and `z` in either case, and a
    /// leap second `:60` as the second before it. Accepts no blank for the `T`, no missing offset, no `24:00`.
    package init?(rfc3339 text: String) {
        var text = text
        guard let moment = text.withUTF8({ Timestamp(rfc3339: $0) }) else { return nil }
        self = moment
    }

    /// Parses a text in UTF-8, as above.
    package init?(rfc3339 bytes: UnsafeBufferPointer<UInt8>) {
        guard let moment = Self.parseRFC3339(bytes) else { return nil }
        self = moment
    }

    /// In UTC with `Z`. The fraction is left out if it is zero; else it has three digits, or six if they are needed.
    ///
    /// A moment before the year 0 or after 9999, which RFC 3339 cannot write, is written as the nearest that it can.
    package var rfc3339: String {
        let moment = min(max(self, Timestamp(microseconds: -62_167_219_200_000_000)), .lastInNames)
        let civil = CivilTime(moment)
        return String(unsafeUninitializedCapacity: 32) { buffer in
            var writer = NameWriter(buffer)
            writer.write(civil.year, digits: 4)
            writer.write("-" as StaticString)
            writer.write(civil.month, digits: 2)
            writer.write("-" as StaticString)
            writer.write(civil.day, digits: 2)
            writer.write("T" as StaticString)
            writer.write(civil.hour, digits: 2)
            writer.write(":" as StaticString)
            writer.write(civil.minute, digits: 2)
            writer.write(":" as StaticString)
            writer.write(civil.second, digits: 2)
            if civil.microsecond != 0 {
                writer.write("." as StaticString)
                if civil.microsecond % 1000 == 0 {
                    writer.write(civil.microsecond / 1000, digits: 3)
                } else {
                    writer.write(civil.microsecond, digits: 6)
                }
            }
            writer.write("Z" as StaticString)
            return writer.count
        }
    }

    private static func parseRFC3339(_ bytes: UnsafeBufferPointer<UInt8>) -> Timestamp? {
        guard bytes.count >= 20,
            let year = bytes.decimal(at: 0, digits: 4), bytes[4] == UInt8(ascii: "-"),
            let month = bytes.decimal(at: 5, digits: 2), bytes[7] == UInt8(ascii: "-"),
            let day = bytes.decimal(at: 8, digits: 2), bytes[10] | 0x20 == UInt8(ascii: "t"),
            let hour = bytes.decimal(at: 11, digits: 2), bytes[13] == UInt8(ascii: ":"),
            let minute = bytes.decimal(at: 14, digits: 2), bytes[16] == UInt8(ascii: ":"),
            let second = bytes.decimal(at: 17, digits: 2), second <= 60
        else { return nil }
        var index = 19
        var microsecond = 0
        if bytes[index] == UInt8(ascii: ".") {
            index += 1
            let start = index
            var weight = 100_000
            while index < bytes.count, let digit = bytes.decimal(at: index, digits: 1) {
                microsecond += digit * weight
                weight /= 10
                index += 1
            }
            if index == start { return nil }
        }
        guard let offset = offsetInMinutes(bytes, at: index),
            let civil = CivilTime(
                year: year, month: month, day: day, hour: hour, minute: minute, second: min(second, 59),
                microsecond: microsecond)
        else { return nil }
        return civil.timestamp - .seconds(offset * 60)
    }

    /// Returns the offset from `index` to the end, in minutes: `Z` or `±hh:mm`.
    private static func offsetInMinutes(_ bytes: UnsafeBufferPointer<UInt8>, at index: Int) -> Int? {
        switch bytes.count - index {
        case 1: return bytes[index] | 0x20 == UInt8(ascii: "z") ? 0 : nil
        case 6:
            guard bytes[index] == UInt8(ascii: "+") || bytes[index] == UInt8(ascii: "-"),
                let hours = bytes.decimal(at: index + 1, digits: 2), hours <= 23,
                bytes[index + 3] == UInt8(ascii: ":"),
                let minutes = bytes.decimal(at: index + 4, digits: 2), minutes <= 59
            else { return nil }
            return (hours * 60 + minutes) * (bytes[index] == UInt8(ascii: "-") ? -1 : 1)
        default: return nil
        }
    }
}

extension Timestamp: Codable {
    package init(from decoder: any Decoder) throws { self = try decoder.text { Timestamp(rfc3339: $0) } }

    package func encode(to encoder: any Encoder) throws {
        try rfc3339.encode(to: encoder)
    }
}
