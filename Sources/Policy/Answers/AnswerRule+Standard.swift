extension AnswerRule {
    /// The statuses that refuse the credentials, or the operation with them (RFC 9110 §15.5.2, §15.5.4, §15.5.8).
    package static let refusingCredentials: Set<Int> = [401, 403, 407]

    static func standard(_ status: Int) -> AnswerRule {
        let (range, outcome) = defaultOutcome(ofStatus: status)
        return AnswerRule(.standard, .statuses([range]), outcome)
    }

    static func standard(_ error: NetworkError) -> AnswerRule {
        AnswerRule(.standard, .errors([error]), defaultOutcome(of: error))
    }

    private static func defaultOutcome(ofStatus status: Int) -> (ClosedRange<Int>, Outcome) {
        switch status {
        case _ where refusingCredentials.contains(status): (status...status, .held)
        // 409 is deferred: every request carries our idempotency key, and the server may still process the first one.
        case 408, 409, 421, 423, 425, 429: (status...status, .deferred)
        case 501, 505: (status...status, .failed)
        // An interim answer without a final one.
        case 100...199: (100...199, .deferred)
        case 200...299: (200...299, .delivered)
        // A redirect that arrives here was not followed: a person must say where the requests go.
        case 300...399: (300...399, .held)
        // Unassigned statuses too: the server blames the request (RFC 9110 §15).
        case 400...499: (400...499, .failed)
        case 500...599: (500...599, .deferred)
        // A status outside 100–599 is not HTTP and counts as a server error (RFC 9110 §15).
        default: (status...status, .deferred)
        }
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
