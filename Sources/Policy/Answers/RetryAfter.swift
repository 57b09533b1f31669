/// The time that a server asks for: the field Retry-After (RFC 9110 §10.2.3).
package enum RetryAfter {
    /// A server gets at most this much time from one answer.
    package static let longest = Duration.seconds(86_400)
    /// On top of what a server asked for, so that those who were asked together do not come back together.
    static let longestJitter = Duration.seconds(300)

    /// The time asked for, from the moment of the answer; `nil` if the value is neither a number of seconds nor a date.
    ///
    /// A date is taken against the answer's own Date, so neither clock needs to be right; against `now` only where the
    /// answer has none. A date that has passed asks for nothing, and nothing asks for more than `longest`.
    package static func parse(_ value: String, date: String? = nil, now: Timestamp) -> Duration? {
        let value = value.trimmingBlanks
        if !value.isEmpty, value.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
            // All digits, so what does not fit is too large.
            return Int64(value).map { min(.seconds($0), longest) } ?? longest
        }
        guard let then = Timestamp(httpDate: value, now: now) else { return nil }
        let start = date.flatMap { Timestamp(httpDate: $0.trimmingBlanks, now: now) } ?? now
        return min(max(then - start, .zero), longest)
    }

    /// Returns the wait that an answer asks for; `nil` if it has none that can be read.
    package static func asked(by answer: AttemptReport.Answer, now: Timestamp) -> Duration? {
        guard let value = answer.header("Retry-After") else { return nil }
        return parse(single(value), date: answer.header("Date"), now: now)
    }

    /// One of several equal values: a transport may join fields of one name by commas, and a date has one of its own.
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

    /// The wait asked for, with up to a fifth more and never less.
    static func spread(_ asked: Duration, using generator: inout some RandomNumberGenerator) -> Duration {
        asked + min(asked.scaled(by: Double.random(in: 0...0.2, using: &generator)), longestJitter)
    }
}

extension String {
    /// Without blanks and tabs at either end, as a field's value is read.
    var trimmingBlanks: String {
        let isBlank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
        guard let first = utf8.firstIndex(where: { !isBlank($0) }),
            let last = utf8.lastIndex(where: { !isBlank($0) })
        else { return "" }
        return String(self[first...last])
    }
}
