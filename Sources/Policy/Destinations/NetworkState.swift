/// The parts of this machine's network that are there, without loopback.
package struct NetworkState: Hashable, Sendable {
    /// Whether an interface is up that has an address of more than link-local scope.
    package var hasInterface: Bool
    /// Whether there is a route over such an interface, if only to its own subnet.
    package var hasRoute: Bool
    package var hasDefaultRoute: Bool
    /// Whether a name server is configured.
    package var hasResolver: Bool

    package init(
        hasInterface: Bool = true, hasRoute: Bool = true, hasDefaultRoute: Bool = true, hasResolver: Bool = true
    ) {
        self.hasInterface = hasInterface
        self.hasRoute = hasRoute
        self.hasDefaultRoute = hasDefaultRoute
        self.hasResolver = hasResolver
    }

    /// Returns the missing part of the network that explains the error; `nil` if there is none.
    ///
    /// A missing default route explains only `dns` and `offline`: a server of the machine's own subnet may be away
    /// although the network works.
    package func absence(behind error: NetworkError) -> NetworkAbsence? {
        switch error {
        case .tls, .malformedAnswer, .badURL, .bodyFileChanged, .agentDied, .cancelled, .machine, .shortage:
            return nil
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
    /// Only the machine's own subnets can be reached: there is no default route.
    case local
    case online
    /// Online, and traffic costs money.
    case metered
}

extension NetworkState {
    /// Returns the kind of network. `isMetered` is `nil` if it is not known, which counts as not metered.
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
    /// The system has told the transport.
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
