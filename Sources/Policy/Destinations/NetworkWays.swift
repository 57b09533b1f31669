/// The network of this machine, without loopback.
package struct NetworkWays: Hashable, Sendable {
    /// An interface that is up and has an address of more than link-local scope.
    package var hasInterface: Bool
    /// A route over such an interface, if only to its own subnet.
    package var hasRoute: Bool
    package var hasDefaultRoute: Bool
    /// A name server is configured.
    package var hasResolver: Bool

    package init(
        hasInterface: Bool = true, hasRoute: Bool = true, hasDefaultRoute: Bool = true, hasResolver: Bool = true
    ) {
        self.hasInterface = hasInterface
        self.hasRoute = hasRoute
        self.hasDefaultRoute = hasDefaultRoute
        self.hasResolver = hasResolver
    }

    /// Returns what is missing that explains the error; `nil` where the network is there, or has no part in the error.
    ///
    /// Without a default route only names that cannot be resolved are explained: a server of the own subnet may be away
    /// with its network in good order.
    package func absence(behind error: NetworkError) -> NetworkAbsence? {
        switch error {
        case .tls, .malformedAnswer, .badURL, .bodyFileChanged, .agentDied, .cancelled: return nil
        case .dns, .refused, .unreachable, .connectTimeout, .timeout, .deadline, .reset, .emptyAnswer, .truncated,
            .proxy, .offline, .other:
            break
        }
        if !hasInterface { return .noInterface }
        if !hasRoute { return .noRoute }
        guard error == .dns || error == .offline else { return nil }
        if !hasDefaultRoute { return .noRoute }
        return error == .dns && !hasResolver ? .noResolver : nil
    }
}

/// The kind of network that this machine has.
package enum NetworkKind: String, Hashable, Sendable, CaseIterable {
    /// No interface but loopback is up, or there is no route.
    case none
    /// Its own subnets alone: there is no default route.
    case local
    case online
    /// Online, and what is sent costs.
    case metered
}

extension NetworkWays {
    /// The kind of network. `isMetered` is `nil` where nobody knows, which counts as not metered.
    package func kind(isMetered: Bool?) -> NetworkKind {
        if !hasInterface || !hasRoute { return .none }
        if !hasDefaultRoute { return .local }
        return isMetered == true ? .metered : .online
    }
}

/// Why this machine has no usable network.
package enum NetworkAbsence: String, Hashable, Sendable, CaseIterable, CustomStringConvertible {
    case noInterface
    case noRoute
    case noResolver
    /// The transport has it from the system.
    case reported

    package var description: String {
        let reason =
            switch self {
            case .noInterface: "no interface but loopback is up"
            case .noRoute: "there is no route out"
            case .noResolver: "no name server is configured"
            case .reported: "the system says that it is offline"
            }
        return "this machine has no network: \(reason)"
    }
}
