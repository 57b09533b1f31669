/// The texts of a time in an entry's name: `20261121T091500.123456Z`, `20261121T091500Z`, `20261121T091500.250Z`.
///
/// Years 1970 to 9999; a moment outside them is written as the nearest one inside.
extension Timestamp {
    /// The moments that a name can carry: from 1970 to `lastInNames`.
    package static let inNames = Timestamp(microseconds: 0)...lastInNames

    /// The last moment that a name can carry: 9999-12-31T23:59:59.999999Z.
    package static let lastInNames = Timestamp(microseconds: 253_402_300_799_999_999)

    /// The length of `YYYYMMDDThhmmss.uuuuuuZ`.
    package static let compactMicrosecondsLength = 23

    /// Parses exactly `YYYYMMDDThhmmss.uuuuuuZ`.
    package init?(compactMicroseconds bytes: UnsafeBufferPointer<UInt8>) {
        guard bytes.count == Self.compactMicrosecondsLength, bytes[15] == UInt8(ascii: "."),
            let fraction = bytes.decimal(at: 16, digits: 6),
            let moment = Self.compact(bytes, microsecond: fraction)
        else { return nil }
        self = moment
    }

    /// Parses exactly `YYYYMMDDThhmmssZ`, or with `.mmm` before the `Z` if that is not `.000`.
    package init?(compactMilliseconds bytes: UnsafeBufferPointer<UInt8>) {
        var fraction = 0
        switch bytes.count {
        case 16: break
        case 20:
            guard bytes[15] == UInt8(ascii: "."), let milliseconds = bytes.decimal(at: 16, digits: 3),
                milliseconds != 0
            else { return nil }
            fraction = milliseconds * 1000
        default: return nil
        }
        guard let moment = Self.compact(bytes, microsecond: fraction) else { return nil }
        self = moment
    }

    /// Parses any of the three forms.
    package init?(compact text: some StringProtocol) {
        let moment = Array(text.utf8).withUnsafeBufferPointer {
            Timestamp(compactMicroseconds: $0) ?? Timestamp(compactMilliseconds: $0)
        }
        guard let moment else { return nil }
        self = moment
    }

    /// `YYYYMMDDThhmmss.uuuuuuZ`: texts sort as the moments do.
    package var compactMicroseconds: String {
        String(unsafeUninitializedCapacity: 24) { buffer in
            var writer = NameWriter(buffer)
            writer.writeCompactMicroseconds(self)
            return writer.count
        }
    }

    /// The next whole millisecond, or this moment if already whole: the due time that a name can carry.
    package var roundedUpToMilliseconds: Timestamp {
        let rest = microseconds % 1000
        if rest == 0 { return self }
        return Timestamp(microseconds: rest < 0 ? microseconds - rest : microseconds +| (1000 - rest))
    }

    /// This moment, or the nearest that a name can carry.
    var clampedToNames: Timestamp { min(max(self, Timestamp(microseconds: 0)), Self.lastInNames) }

    /// Reads the first 15 bytes and the last one; the caller has checked the length and read the fraction.
    private static func compact(_ bytes: UnsafeBufferPointer<UInt8>, microsecond: Int) -> Timestamp? {
        guard bytes[8] == UInt8(ascii: "T"), bytes[bytes.count - 1] == UInt8(ascii: "Z"),
            let year = bytes.decimal(at: 0, digits: 4), year >= 1970,
            let month = bytes.decimal(at: 4, digits: 2), let day = bytes.decimal(at: 6, digits: 2),
            let hour = bytes.decimal(at: 9, digits: 2), let minute = bytes.decimal(at: 11, digits: 2),
            let second = bytes.decimal(at: 13, digits: 2)
        else { return nil }
        return CivilTime(
            year: year, month: month, day: day, hour: hour, minute: minute, second: second, microsecond: microsecond
        )?.timestamp
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Returns the number in `digits` decimal digits; `nil` if a byte is no digit. The caller checks bounds.
    @inline(__always)
    func decimal(at offset: Int, digits: Int) -> Int? {
        var value = 0
        for index in offset..<offset + digits {
            let digit = self[index] &- UInt8(ascii: "0")
            guard digit <= 9 else { return nil }
            value = value * 10 + Int(digit)
        }
        return value
    }
}
