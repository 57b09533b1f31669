/// Where an answer says when its server may be asked again, besides Retry-After.
package enum AnswerTime: Hashable, Sendable {
    case header(String)
    case pointer(JSONPointer)
}

extension AnswerTime: CustomStringConvertible {
    package var description: String {
        switch self {
        case .header(let name): name
        case .pointer(let pointer): escapedForDisplay(pointer.description)
        }
    }

    /// How long the answer asks for, at most `cap`; `nil` where nothing that can be read is there.
    func wait(in answer: inout JudgedAnswer, now: Timestamp, cap: Duration) -> Duration? {
        let text: String?
        switch self {
        case .header(let name): text = answer.head.header(name).map(RetryAfter.single)
        case .pointer(let pointer):
            switch answer.document?.value(at: pointer) {
            case .string(let value)?, .number(let value)?: text = value
            default: text = nil
            }
        }
        return text.flatMap { Self.parse($0, date: answer.head.header("Date"), now: now, cap: cap) }
    }

    /// The time from the moment of the answer: a number of seconds, which may have a fraction; seconds or milliseconds
    /// since 1970; a date of HTTP or of RFC 3339. `nil` for anything else.
    ///
    /// A number from 1,000,000,000 on is since 1970 (no server asks for thirty years), and from 1,000,000,000,000 on in
    /// milliseconds. A moment is taken against the answer's own Date, so neither clock needs to be right.
    package static func parse(
        _ text: String, date: String? = nil, now: Timestamp, cap: Duration = RetryAfter.longest
    ) -> Duration? {
        let text = text.trimmingBlanks
        func until(_ moment: Timestamp) -> Duration {
            let start = date.flatMap { Timestamp(httpDate: $0.trimmingBlanks, now: now) } ?? now
            return min(max(moment - start, .zero), cap)
        }
        // Digits, with a fraction and an exponent as JSON has them; `Double` reads hexadecimal digits as well.
        if text.utf8.first?.isDigit == true, text.utf8.allSatisfy({ $0.isDigit || ".eE+-".utf8.contains($0) }),
            let number = Double(text), number.isFinite
        {
            if number < 1e9 { return min(.seconds(number), cap) }
            let seconds = min(number < 1e12 ? number : number / 1000, 1e12)
            return until(Timestamp(microseconds: Int64(seconds * 1e6)))
        }
        if let moment = Timestamp(rfc3339: text) { return until(moment) }
        return RetryAfter.parse(text, date: date, now: now, cap: cap)
    }
}
