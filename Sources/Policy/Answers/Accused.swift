/// Who is to blame for an attempt that was no delivery. Only the accused pays: nobody else is held, delayed or charged.
package enum Accused: String, Hashable, Sendable, CaseIterable {
    /// This program or this machine ended the attempt, or cannot make the request. No attempt counts.
    case machine
    /// The delivery agent died with this attempt alone in it. The attempt counts, and the destination's circuit breaker too.
    case agent
    /// This machine has no network, or a proxy on the way has failed. No attempt counts, and no circuit breaker.
    case network
    /// The server is away, busy or broken. The operation waits as its schedule says; the destination has its circuit breaker.
    case destination
    /// The server refuses the credentials. The operation is put back; the destination is held where others are refused too.
    case credentials
    /// The request carried several operations and was refused. Each is attempted alone before it pays.
    case batch
    /// The server refuses this operation. It alone fails.
    case operation

    /// Whether the operation had no part in it, whatever becomes of it.
    var excusesOperation: Bool { self == .machine || self == .network }
}

extension Verdict {
    /// Who is to blame; `nil` for a delivery. The one place where that is decided.
    ///
    /// `members` is the number of operations in the request.
    package func accused(members: Int = 1) -> Accused? {
        if outcome == .delivered { return nil }
        if absence != nil { return .network }
        switch rule {
        case .request(let error): return error.accused
        case .storm: return .destination
        case .contradicted, .refusedAlone: return .operation
        case .parked: return .credentials
        case .answer, .member, .misaligned, .unlisted, .attemptsUsedUp, .ageUsedUp, .expired, .interrupted, .ambiguous,
            .noNetwork, .notKept:
            break
        }
        if let error { return error.accused }
        if isAboutCredentials { return .credentials }
        switch outcome {
        case .failed: return members > 1 ? .batch : .operation
        case .deferred, .held, .delivered: return .destination
        }
    }

    /// Whether the server refuses the credentials, or this operation with them: 401, 403, 407 and what a callable function
    /// says in their place, unless the route makes something else than a hold of them.
    package var isAboutCredentials: Bool {
        if outcome != .held { return false }
        return status.map { [401, 403, 407].contains($0) } ?? false || canonical == .unauthenticated
            || canonical == .permissionDenied
    }
}

extension NetworkError {
    /// Who is to blame for it, as long as this machine has a network.
    package var accused: Accused {
        switch self {
        case .dns, .refused, .unreachable, .connectTimeout, .timeout, .deadline, .reset, .emptyAnswer, .truncated,
            .malformedAnswer, .tls, .other:
            .destination
        case .offline, .proxy: .network
        case .agentDied: .agent
        case .cancelled: .machine
        case .badURL, .bodyFileChanged: .operation
        }
    }
}

extension RequestError {
    fileprivate var accused: Accused {
        switch self {
        case .missingSecret, .headersCommand: .credentials
        case .secretUnavailable: .network
        default: outcome == .held ? .machine : .operation
        }
    }
}
