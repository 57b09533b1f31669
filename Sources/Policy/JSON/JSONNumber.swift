/// The value of a JSON number of any size: 1, 1.0 and 10e-1 are equal, and no digit is lost.
struct JSONNumber: Hashable {
    /// The value is 0.DIGITS × 10^exponent. `digits` has no 0 at either end; it is empty for 0, which has no sign.
    private let isNegative: Bool
    private let digits: [UInt8]
    private let exponent: Int

    /// Returns `nil` if the text is no number, or if its exponent is beyond 64 bits.
    init?(_ text: String) {
        var rest = Array(text.utf8)[...]
        let isNegative = rest.first == UInt8(ascii: "-")
        if isNegative { rest.removeFirst() }
        let mantissa = rest.prefix { $0 | 0x20 != UInt8(ascii: "e") }
        var exponent = 0
        if mantissa.count < rest.count {
            guard let written = Int(String(decoding: rest[(mantissa.endIndex + 1)...], as: UTF8.self)) else {
                return nil
            }
            exponent = written
        }
        let parts = mantissa.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy(\.isDigit) }) else {
            return nil
        }
        let written = parts.joined()
        let isZero: (UInt8) -> Bool = { $0 == UInt8(ascii: "0") }
        var significant = Array(written.drop(while: isZero))
        while significant.last.map(isZero) == true { significant.removeLast() }
        digits = significant
        guard !significant.isEmpty else {
            self.isNegative = false
            self.exponent = 0
            return
        }
        let (sum, overflow) = exponent.addingReportingOverflow(parts[0].count - written.prefix(while: isZero).count)
        if overflow { return nil }
        self.isNegative = isNegative
        self.exponent = sum
    }
}
