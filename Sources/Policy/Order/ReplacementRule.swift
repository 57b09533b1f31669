/// Decides which operations replace older ones of their key, on routes that coalesce without merging. A patch of a
/// merging route replaces nothing.
package struct ReplacementRule: Sendable {
    private let configuration: Configuration
    private let destinations: DestinationTable
    private let moment: Timestamp

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

    /// Whether `newer` replaces `older`. `isSent`: `newer` is being sent, or was, whatever its `notBefore`.
    package func replaces(_ newer: EntryName, _ older: EntryName, isSent: Bool = false) -> Bool {
        guard Age(older) < Age(newer), isSent || mayReplace(newer), let group = group(of: newer) else { return false }
        return group == self.group(of: older)
    }
}
