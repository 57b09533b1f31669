/// The time that a server asks for: the field Retry-After (RFC 9110 §10.2.3).
package enum RetryAfter {
    /// The longest time that a server gets from one answer.
    package static let longest = Duration.seconds(86_400)
    /// The longest jitter added to a wait, so that clients that were asked together do not come back together.
    static let longestJitter = Duration.seconds(300)

    /// Returns the time asked for, from the moment of the answer on; `nil` if the value is neither seconds nor a date.
    ///
    /// A date is measured from the answer's own Date, so neither clock needs to be right, and from `now` only if the
    /// answer has no Date. A date that has passed gives zero. No value gives more than `longest`.
    package static func parse(_ value: String, date: String? = nil, now: Timestamp) -> Duration? {
        let value = value.trimmingBlanks
        if !value.isEmpty, value.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
            // The value is all digits: if it does not fit, it is too large.
            return Int64(value).map { min(.seconds($0), longest) } ?? longest
        }
        guard let then = Timestamp(httpDate: value, now: now) else { return nil }
        let start = date.flatMap { Timestamp(httpDate: $0.trimmingBlanks, now: now) } ?? now
        return min(max(then - start, .zero), longest)
    }

    /// Returns the wait that an answer asks for; `nil` if it has no Retry-After that can be read.
    package static func asked(by answer: AttemptReport.Answer, now: Timestamp) -> Duration? {
        guard let value = answer.header("Retry-After") else { return nil }
        return parse(single(value), date: answer.header("Date"), now: now)
    }

    /// Returns one of several equal values: a transport may join fields of one name with commas. Dates contain commas.
    static func single(_ value: String) -> String {
        let parts = value.split(separator: ",", omittingEmptySubsequences: false).map { String($0).trimmingBlanks }
        for size in 1...2 where parts.count > size && parts.count % size == 0 {
            let first = Array(parts[..<size])
            let isRepeated = stride(from: 0, to: parts.count, by: size).allSatisfy {
                Array(parts[$0..<$0 + size]) == first
            }
            if isRepeated { return first.joined(separator: ", ") }
        }
        return value
    }

    /// Returns the wait asked for plus up to a fifth, at most `longestJitter`; never less than the wait asked for.
    static func spread(_ asked: Duration, using generator: inout some RandomNumberGenerator) -> Duration {
        asked + min(asked.scaled(by: Double.random(in: 0...0.2, using: &generator)), longestJitter)
    }
}

extension String {
    /// The text without blanks and tabs at either end, as a field's value is read.
    var trimmingBlanks: String {
        let isBlank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
        guard let first = utf8.firstIndex(where: { !isBlank($0) }),
            let last = utf8.lastIndex(where: { !isBlank($0) })
        else { return "" }
        return String(self[first...last])
    }
}
