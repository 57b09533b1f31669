/// The party to blame for an attempt that was not a delivery. Only the accused is held, delayed or charged.
package enum Accused: String, Hashable, Sendable, CaseIterable {
    /// This program or this machine ended the attempt, or cannot make the request. The attempt does not count.
    case machine
    /// The delivery agent died with this attempt alone in it. The attempt counts, for the circuit breaker too.
    case agent
    /// This machine has no network, or a proxy has failed. The attempt does not count, nor for the circuit breaker.
    case network
    /// The server is away, busy or broken. The operation waits by its schedule; a circuit breaker may open.
    case destination
    /// The server refuses the credentials. The operation is put back; the destination is held if others are refused.
    case credentials
    /// The server refused a request of several operations. None of them is charged before it was attempted alone.
    case batch
    /// The server refuses this operation. Only this operation fails.
    case operation

    /// Whether the attempt does not count for the operation, whatever its outcome.
    var excusesOperation: Bool { self == .machine || self == .network }
}

extension Verdict {
    /// Returns who is to blame; `nil` for a delivery. No other code decides this.
    ///
    /// `members` is the number of operations in the request.
    package func accused(members: Int = 1) -> Accused? {
        if outcome == .delivered { return nil }
        if Batch.isToBeSplit(self, members: members) { return .batch }
        if absence != nil { return .network }
        switch rule {
        case .request(let error): return error.accused
        case .storm: return .destination
        case .contradicted, .refusedAlone: return .operation
        case .parked: return .credentials
        case .answer, .member, .misaligned, .unlisted, .attemptsUsedUp, .ageUsedUp, .expired, .interrupted, .ambiguous,
            .noNetwork, .notKept, .recorded:
            break
        }
        if let error { return error.accused }
        if isAboutCredentials { return .credentials }
        switch outcome {
        case .failed: return .operation
        case .deferred, .held, .delivered: return .destination
        }
    }

    /// Whether the server refuses the credentials, or this operation with them: 401, 403, 407 and the equivalent codes
    /// of a callable function. False if the outcome is not `held`.
    package var isAboutCredentials: Bool {
        if outcome != .held { return false }
        return status.map(AnswerRule.refusingCredentials.contains) ?? false || canonical == .unauthenticated
            || canonical == .permissionDenied
    }
}

extension NetworkError {
    /// The party to blame for the error, as long as this machine has a network.
    package var accused: Accused {
        switch self {
        case .dns, .refused, .unreachable, .connectTimeout, .timeout, .deadline, .reset, .emptyAnswer, .truncated,
            .malformedAnswer, .tls, .other:
            .destination
        case .offline, .proxy: .network
        case .agentDied: .agent
        case .cancelled, .machine, .shortage: .machine
        case .badURL, .bodyFileChanged: .operation
        }
    }
}

extension RequestError {
    fileprivate var accused: Accused {
        switch self {
        case .missingSecret, .missingOwnSecret, .headersCommand: .credentials
        case .unavailable(let error, _): error.accused
        case .noCredentials: .machine
        default: outcome == .held ? .machine : .operation
        }
    }
}
