/// Reads `10`, `64KB`, `1MB`, `2GB`, in powers of 1000.
func byteCount(_ text: String) -> Int? {
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    let factors = ["": 1, "B": 1, "KB": 1000, "MB": 1_000_000, "GB": 1_000_000_000]
    guard let number = Int(digits), let factor = factors[text.dropFirst(digits.count).uppercased()] else { return nil }
    let (bytes, overflow) = number.multipliedReportingOverflow(by: factor)
    return overflow ? nil : bytes
}

extension Duration {
    private static let units: [(name: String, microseconds: Int64)] = [
        ("h", 3_600_000_000), ("m", 60_000_000), ("s", 1_000_000), ("ms", 1000), ("us", 1),
    ]

    /// Reads `250ms 2s 5m 1h`, whole numbers; `us` for microseconds.
    init?(spelled text: String) {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let name = text.dropFirst(digits.count)
        guard let number = Int64(digits), let unit = Self.units.first(where: { $0.name == name }) else { return nil }
        let (microseconds, overflow) = number.multipliedReportingOverflow(by: unit.microseconds)
        if overflow { return nil }
        self = .microseconds(microseconds)
    }

    /// The duration in the largest unit that gives a whole number, cut to microseconds.
    var spelled: String {
        let (seconds, attoseconds) = components
        let microseconds = seconds * 1_000_000 + attoseconds / 1_000_000_000_000
        let unit = Self.units.first { microseconds % $0.microseconds == 0 }!
        return microseconds == 0 ? "0s" : "\(microseconds / unit.microseconds)\(unit.name)"
    }
}
