/// The waiting operations that newer ones of their key supersede, on routes that coalesce without merging. Takes in
/// names first, then answers.
///
/// Agrees with `Precedence`: an operation with a `notBefore` that is in the future, or held, supersedes nothing yet.
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

    /// Returns the group of operations that replace each other; `nil` without a key, or if the route replaces none.
    package func group(of name: EntryName) -> SequenceKey? {
        let order = configuration.route(of: name.type).order
        return order.replacesOlder ? order.group(of: name, to: destinations.destination(of: name)) : nil
    }

    /// Takes in an operation that waits or is about to wait.
    package mutating func note(_ name: EntryName) {
        guard supersedes(name), let group = group(of: name) else { return }
        newest[group] = max(newest[group] ?? Age(name), Age(name))
    }

    /// Whether a noted operation supersedes this one.
    package func isSuperseded(_ name: EntryName) -> Bool { newer(than: name) != nil }

    /// Returns the noted operation that supersedes this one; `nil` if none does.
    package func newer(than name: EntryName) -> OperationID? {
        guard let group = group(of: name), let newest = newest[group], Age(name) < newest else { return nil }
        return newest.id
    }

    /// Whether `newer` supersedes `older`, an operation of the same group.
    package func supersedes(_ newer: EntryName, _ older: EntryName) -> Bool {
        supersedes(newer) && Age(older) < Age(newer)
    }

    private func supersedes(_ name: EntryName) -> Bool {
        switch name.gate {
        case .notBefore(let opening): opening <= moment && !name.isHeld
        case .open, .retryAt: true
        }
    }
}

extension Configuration {
    /// Returns the group of operations of which only the newest, or one merged document, is sent; `nil` without a key,
    /// or if the route does not coalesce.
    package func coalescingGroup(of name: EntryName, _ destinations: DestinationTable) -> SequenceKey? {
        let order = route(of: name.type).order
        return order.coalesces ? order.group(of: name, to: destinations.destination(of: name)) : nil
    }
}
