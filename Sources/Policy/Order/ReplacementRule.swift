/// Decides which operations replace older ones of their key: only on routes that coalesce without merging.
package struct ReplacementRule: Sendable {
    private let configuration: Configuration
    private let destinations: DestinationTable
    /// The time at which an operation with a `notBefore` is due or not.
    package var moment: Timestamp

    package init(_ configuration: Configuration, at now: Timestamp) {
        self.configuration = configuration
        destinations = DestinationTable(configuration)
        moment = now
    }

    /// Returns the group of operations that replace each other; `nil` without a key, or if the route replaces none.
    package func group(of name: EntryName) -> SequenceKey? {
        let order = configuration.route(of: name.type).order
        return order.replacesOlder ? order.group(of: name, to: destinations.destination(of: name)) : nil
    }

    /// Whether an operation replaces older ones of its group now.
    package func mayReplace(_ name: EntryName) -> Bool {
        eligibility(of: name, at: moment, longestDelay: .zero, ignoringBackoff: true).replacesOlder(gate: name.gate)
    }

    /// Whether an operation has expired: a run would fail it unsent.
    package func hasExpired(_ operation: Operation) -> Bool {
        Settlement.decide(onExpiryOf: operation, route: configuration.route(of: operation.header.type), now: moment)
            != nil
    }

    /// The directories of body files.
    package var bodyFileRoots: [String] { configuration.bodyFileRoots }

    /// Whether older values of an operation that was sent may still wait. Each run that sends a value whose time has
    /// come removes them before; but this one has a time of its own, and nobody knows any more whether it had come.
    package func mayLeaveOlder(_ sent: EntryName) -> Bool {
        if case .notBefore = sent.gate { group(of: sent) != nil } else { false }
    }

    /// Whether `newer` replaces `older`. `isSent`: `newer` is being sent, or was, whatever its `notBefore`.
    package func replaces(_ newer: EntryName, _ older: EntryName, isSent: Bool = false) -> Bool {
        guard Age(older) < Age(newer), isSent || mayReplace(newer), let group = group(of: newer) else { return false }
        return group == self.group(of: older)
    }
}
