// Numbers with units, in the one grammar that the command line and the configuration share.

extension Duration {
    /// Reads `500ms`, `90s`, `5m`, `2h`, `3d`, fractions such as `1.5s`, and combinations in falling order: `1h30m`.
    ///
    /// `nil` for a number without a unit, a sign, spaces, a fraction finer than a microsecond, and for anything beyond
    /// 64 bits of microseconds.
    package init?(quantity text: some StringProtocol) {
        var scanner = QuantityScanner(text)
        var total: Int64 = 0
        var previous = Int64.max
        repeat {
            guard let number = scanner.number(),
                let scale = Self.units.first(where: { [name = scanner.unit()] in $0.name == name })?.microseconds,
                scale < previous, let part = number.scaled(by: scale)
            else { return nil }
            let (sum, overflow) = total.addingReportingOverflow(part)
            if overflow { return nil }
            total = sum
            previous = scale
        } while !scanner.isAtEnd
        self = .microseconds(total)
    }

    /// The shortest text that `init(quantity:)` reads as this duration, in whole microseconds: `1h30m`, `500ms`, `0s`.
    ///
    /// A negative duration has a leading `-`, which `init(quantity:)` rejects: only relative times have a sign.
    package var quantity: String {
        let microseconds = wholeMicroseconds
        if microseconds == 0 { return "0s" }
        var rest = microseconds.magnitude
        var text = microseconds < 0 ? "-" : ""
        for (unit, scale) in Self.units.dropLast() where rest >= scale {
            text += "\(rest / UInt64(scale))\(unit)"
            rest %= UInt64(scale)
        }
        if rest > 0 {
            text += "\(rest / 1000)"
            if rest % 1000 > 0 { text += "." + String(String(1000 + rest % 1000).dropFirst()) }
            text += "ms"
        }
        return text
    }

    private static let units: [(name: String, microseconds: Int64)] = [
        ("d", 86_400_000_000), ("h", 3_600_000_000), ("m", 60_000_000), ("s", 1_000_000), ("ms", 1_000),
    ]
}

/// A number of bytes, written `10MB`, `1KiB`, `1.5GB` or `512`.
package struct ByteCount: Hashable, Sendable, CustomStringConvertible {
    package var bytes: Int

    package init(_ bytes: Int) { self.bytes = bytes }

    /// Reads a number with `B`, `kB` or `KB`, `MB`, `GB`, `TB` (powers of 1,000), `KiB`, `MiB`, `GiB`, `TiB` (powers of
    /// 1,024), or bare bytes; `nil` for anything else, a fraction of a byte, or more than 63 bits.
    package init?(quantity text: some StringProtocol) {
        var scanner = QuantityScanner(text)
        guard let number = scanner.number() else { return nil }
        let unit = scanner.isAtEnd ? "B" : scanner.unit()
        let name = unit == "KB" ? "kB" : unit
        guard scanner.isAtEnd, let scale = Self.units.first(where: { $0.name == name })?.scale,
            let bytes = number.scaled(by: scale)
        else { return nil }
        self.bytes = Int(bytes)
    }

    /// The shortest exact text: the largest unit that divides the number, `10MB`, `1KiB`, `1500B`.
    package var quantity: String {
        guard bytes > 0, let (name, scale) = Self.units.first(where: { Int64(bytes) % $0.scale == 0 }) else {
            return "\(bytes)B"
        }
        return "\(Int64(bytes) / scale)\(name)"
    }

    package var description: String { quantity }

    private static let units: [(name: String, scale: Int64)] = [
        ("TiB", 1 << 40), ("TB", 1_000_000_000_000), ("GiB", 1 << 30), ("GB", 1_000_000_000), ("MiB", 1 << 20),
        ("MB", 1_000_000), ("KiB", 1 << 10), ("kB", 1_000), ("B", 1),
    ]
}

extension Rate {
    /// Reads `20/s`, `5/m`, `100/h` or `1000/d`; `nil` for anything else, and for a count of 0.
    package init?(quantity text: some StringProtocol) {
        var scanner = QuantityScanner(text)
        guard let count = scanner.number()?.scaled(by: 1), count > 0, scanner.skip("/"),
            let unit = Self.units.first(where: { [name = scanner.unit()] in $0.name == name }), scanner.isAtEnd
        else { return nil }
        self.init(count: Int(count), per: unit.length)
    }

    package var quantity: String { "\(count)/" + (Self.units.first { $0.length == per }?.name ?? per.quantity) }

    private static let units: [(name: String, length: Duration)] = [
        ("s", .seconds(1)), ("m", .seconds(60)), ("h", .seconds(3_600)), ("d", .seconds(86_400)),
    ]
}

/// Reads decimal numbers and the letters after them.
struct QuantityScanner {
    private var rest: Substring.UTF8View

    init(_ text: some StringProtocol) { rest = Substring(text).utf8 }

    var isAtEnd: Bool { rest.isEmpty }

    /// Reads one or more digits, with an optional fraction; `nil` if there are none or too many.
    mutating func number() -> QuantityNumber? {
        guard let whole = digits() else { return nil }
        guard rest.first == UInt8(ascii: ".") else { return QuantityNumber(digits: whole.value, places: 0) }
        rest.removeFirst()
        guard let fraction = digits(after: whole.value) else { return nil }
        return QuantityNumber(digits: fraction.value, places: fraction.count)
    }

    mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }

    /// Reads the next ASCII letters; empty if there are none.
    mutating func unit() -> String {
        let letters = rest.prefix { (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0) }
        rest = rest.dropFirst(letters.count)
        return String(Substring(letters))
    }

    private mutating func digits(after start: Int64 = 0) -> (value: Int64, count: Int)? {
        var value = start
        var count = 0
        while let digit = rest.first, (0x30...0x39).contains(digit) {
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, carry) = product.addingReportingOverflow(Int64(digit - 0x30))
            if overflow || carry { return nil }
            value = sum
            count += 1
            rest.removeFirst()
        }
        return count > 0 ? (value, count) : nil
    }
}

/// An exact decimal number: `digits` divided by ten to the power of `places`.
struct QuantityNumber {
    var digits: Int64
    var places: Int

    /// Returns the number times `scale`; `nil` if the product is not whole or does not fit.
    func scaled(by scale: Int64) -> Int64? {
        let (wide, low) = digits.multipliedFullWidth(by: scale)
        guard wide == 0, low <= UInt64(Int64.max) else { return nil }
        var value = Int64(low)
        for _ in 0..<places {
            guard value % 10 == 0 else { return nil }
            value /= 10
        }
        return value
    }
}
