extension AnswerRule {
    /// Returns the default rule for a status.
    static func standard(_ status: Int) -> AnswerRule {
        let (range, outcome) = defaultOutcome(ofStatus: status)
        return AnswerRule(.standard, .statuses([range]), outcome)
    }

    /// Returns the default rule for an error.
    static func standard(_ error: NetworkError) -> AnswerRule {
        AnswerRule(.standard, .errors([error]), defaultOutcome(of: error))
    }

    /// The statuses with a default of their own; the ranges are for all others.
    private static let singleStatuses: [Outcome: [Int]] = [
        .held: [401, 403, 407],
        // 409 is deferred: every request carries our idempotency key, and the server may still process the first one.
        .deferred: [408, 409, 421, 423, 425, 429],
        .failed: [501, 505],
    ]

    private static let statusRanges: [(range: ClosedRange<Int>, outcome: Outcome)] = [
        // An interim answer without a final one.
        (100...199, .deferred),
        (200...299, .delivered),
        // A redirect that arrives here was not followed: a person must say where the requests go.
        (300...399, .held),
        // Unassigned statuses too: the server blames the request (RFC 9110 §15).
        (400...499, .failed),
        (500...599, .deferred),
    ]

    private static func defaultOutcome(ofStatus status: Int) -> (ClosedRange<Int>, Outcome) {
        for (outcome, statuses) in singleStatuses where statuses.contains(status) { return (status...status, outcome) }
        // A status outside 100–599 is not HTTP and counts as a server error (RFC 9110 §15).
        return statusRanges.first { $0.range.contains(status) } ?? (status...status, .deferred)
    }

    private static func defaultOutcome(of error: NetworkError) -> Outcome {
        switch error {
        case .dns, .refused, .unreachable, .connectTimeout, .timeout, .deadline, .reset, .emptyAnswer, .truncated,
            .malformedAnswer, .proxy, .offline, .machine, .shortage, .agentDied, .cancelled, .other:
            .deferred
        case .tls: .held
        case .badURL, .bodyFileChanged: .failed
        }
    }
}
