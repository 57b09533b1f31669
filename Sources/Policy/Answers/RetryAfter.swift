/// The time that a server asks for: the field Retry-After (RFC 9110 §10.2.3).
package enum RetryAfter {
    /// The longest time that a server gets from one answer.
    package static let longest = Duration.seconds(86_400)
    /// The longest jitter added to a wait, so that clients asked together do not come back together.
    static let longestJitter = Duration.seconds(300)

    /// Returns the time asked for, from the moment of the answer on; `nil` if the value is neither seconds nor a date.
    ///
    /// Seconds may have a fraction: RFC 9110 has whole seconds only, but servers send `2.0`. A date is measured from
    /// the answer's own Date, so neither clock needs to be right, and from `now` only if the answer has no Date. A past
    /// date gives zero. No value gives more than `longest`.
    package static func parse(_ value: String, date: String? = nil, now: Timestamp) -> Duration? {
        let value = value.utf8.trimmedText
        let digits = value.utf8.split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
        if digits.allSatisfy({ !$0.isEmpty && $0.allSatisfy(\.isDigit) }), let seconds = Double(value) {
            return .seconds(min(seconds, longest.inSeconds))
        }
        guard let then = Timestamp(httpDate: value, now: now) else { return nil }
        let start = date.flatMap { Timestamp(httpDate: $0.utf8.trimmedText, now: now) } ?? now
        return min(max(then - start, .zero), longest)
    }

    /// Returns the wait that an answer asks for; `nil` without a readable Retry-After.
    package static func asked(by answer: AttemptReport.Answer, now: Timestamp) -> Duration? {
        longestWait(of: "Retry-After", in: answer) { parse($0, date: answer.header("Date"), now: now) }
    }

    /// Returns the longest wait in the fields of one name; `nil` if none can be read.
    ///
    /// A transport may join the fields with commas. A date may contain one comma, so `read` gets each part alone, and
    /// together with the next part if it cannot read it alone.
    static func longestWait(
        of name: String, in answer: AttemptReport.Answer, read: (String) -> Duration?
    ) -> Duration? {
        var longest: Duration?
        for field in answer.headers where field.isNamed(name) {
            var parts = field.value.pieces(at: ",")[...]
            while let part = parts.popFirst() {
                var wait = read(String(part))
                if wait == nil, let next = parts.first {
                    wait = read("\(part),\(next)")
                    if wait != nil { parts.removeFirst() }
                }
                longest = [longest, wait].compactMap(\.self).max()
            }
        }
        return longest
    }

    /// Returns the wait asked for plus up to a fifth, at most `longestJitter`; never less than the wait asked for. Each
    /// length of the jitter is equally likely.
    package static func spread(_ asked: Duration, using generator: inout some RandomNumberGenerator) -> Duration {
        let jitter = min(asked.scaled(by: 0.2), longestJitter)
        return asked + jitter.scaled(by: Double.random(in: 0...1, using: &generator))
    }
}
