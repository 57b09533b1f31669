/// The places in an answer that say for how long the server wants no further request.
package enum AnswerLimit: Hashable, Sendable {
    case time(AnswerPlace)
    /// The cost of a request, what is left for requests, and how much of it is restored each second: the wait ends when
    /// another request of this cost is possible.
    case restored(cost: AnswerPlace, left: AnswerPlace, rate: AnswerPlace)

    package var places: [AnswerPlace] {
        switch self {
        case .time(let place): [place]
        case .restored(let cost, let left, let rate): [cost, left, rate]
        }
    }

    /// Returns the wait that the answer asks for, at most `RetryAfter.longest`; `nil` if the answer says none.
    func wait(in answer: inout JudgedAnswer, now: Timestamp) -> Duration? {
        switch self {
        case .time(let place): return place.wait(in: &answer, now: now)
        case .restored(let cost, let left, let rate):
            guard let cost = cost.number(in: &answer), let left = left.number(in: &answer),
                let rate = rate.number(in: &answer), rate > 0
            else { return nil }
            let seconds = max(0, (cost - left) / rate)
            return min(.seconds(min(seconds, 1e9)), RetryAfter.longest)
        }
    }
}

extension AnswerLimit: CustomStringConvertible {
    package var description: String { places.map { "\($0)" }.joined(separator: ", ") }
}

extension AnswerPlace {
    /// Returns the number in this field or value; `nil` if there is none.
    fileprivate func number(in answer: inout JudgedAnswer) -> Double? {
        let text =
            switch self {
            case .header(let name): answer.head.header(name)
            case .pointer(let pointer): answer.document?.scalar(at: pointer)
            }
        return text.flatMap { Double($0.utf8.trimmedText) }.flatMap { $0.isFinite ? $0 : nil }
    }
}
