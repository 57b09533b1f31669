/// Which waiting operations newer ones of their key stand for, where their routes coalesce: fed with names, then asked.
///
/// It agrees with `Precedence`: an operation that asked itself not to be sent before a later time supersedes nothing yet.
package struct Coalescing: Sendable {
    private let configuration: Configuration
    private let destinations: DestinationTable
    private let moment: Timestamp
    private var newest: [SequenceKey: Age] = [:]

    package init(_ configuration: Configuration, at now: Timestamp) {
        self.configuration = configuration
        destinations = DestinationTable(configuration)
        moment = now
    }

    /// The operations of which the newest stands for the others; `nil` where the route does not coalesce, or without a key.
    package func group(of name: EntryName) -> SequenceKey? {
        let route = configuration.route(of: name.type)
        return route.replacesOlder ? route.group(of: name, to: destinations.destination(of: name)) : nil
    }

    /// Takes in an operation that waits, or that is about to.
    package mutating func note(_ name: EntryName) {
        guard supersedes(name), let group = group(of: name) else { return }
        newest[group] = max(newest[group] ?? Age(name), Age(name))
    }

    /// Whether one that was noted stands for this operation.
    package func isSuperseded(_ name: EntryName) -> Bool {
        guard let group = group(of: name), let newest = newest[group] else { return false }
        return Age(name) < newest
    }

    /// Whether `newer` stands for an operation of the same group.
    package func supersedes(_ newer: EntryName, _ older: EntryName) -> Bool {
        supersedes(newer) && Age(older) < Age(newer)
    }

    private func supersedes(_ name: EntryName) -> Bool {
        switch name.gate {
        case .notBefore(let opening): opening <= moment && !name.isHeld
        case .open, .due: true
        }
    }
}
