/// Parses the wait that a server asks for.
package enum AnswerTime {
    /// Returns the wait, counted from the answer, at most `RetryAfter.longest`. Reads a number of seconds, which may
    /// have a fraction; seconds or milliseconds since 1970; an HTTP or RFC 3339 date. `nil` for anything else.
    ///
    /// A number from 1,000,000,000 on is since 1970 (no server asks for thirty years), and from 1,000,000,000,000 on in
    /// milliseconds. A moment is measured from the answer's own Date, so neither clock needs to be right.
    package static func parse(_ text: String, date: String? = nil, now: Timestamp) -> Duration? {
        let text = text.utf8.trimmedText
        func until(_ moment: Timestamp) -> Duration {
            let start = date.flatMap { Timestamp(httpDate: $0.utf8.trimmedText, now: now) } ?? now
            return min(max(moment - start, .zero), RetryAfter.longest)
        }
        // Accepts digits, with a fraction and an exponent as in JSON; `Double` would also read hexadecimal digits.
        if text.utf8.first?.isDigit == true, text.utf8.allSatisfy({ $0.isDigit || ".eE+-".utf8.contains($0) }),
            let number = Double(text), number.isFinite
        {
            if number < 1e9 { return min(.seconds(number), RetryAfter.longest) }
            let seconds = min(number < 1e12 ? number : number / 1000, 1e12)
            return until(Timestamp(microseconds: Int64(seconds * 1e6)))
        }
        if let moment = Timestamp(rfc3339: text) { return until(moment) }
        return RetryAfter.parse(text, date: date, now: now)
    }
}

extension AnswerPlace {
    /// Returns the wait that the answer asks for in this field or value, at most `RetryAfter.longest`; `nil` without a
    /// readable time there. Of several fields the longest wait counts.
    func wait(in answer: inout JudgedAnswer, now: Timestamp) -> Duration? {
        let head = answer.head
        func read(_ text: String) -> Duration? { AnswerTime.parse(text, date: head.header("Date"), now: now) }
        return switch self {
        case .header(let name): RetryAfter.longestWait(of: name, in: head, read: read)
        case .pointer(let pointer): answer.document?.scalar(at: pointer).flatMap(read)
        }
    }
}
