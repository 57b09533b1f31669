/// The newest creation time in each sequence of a queue. If the newest time is not in the past, as after the clock has
/// been set back, an operation added to the sequence gets a later time. Otherwise the newest value of a key would count
/// as an old value, and be superseded.
package struct SequenceClock: Sendable {
    private let configuration: Configuration
    private let destinations: DestinationTable
    private var newest: [SequenceKey: Timestamp] = [:]

    package init(_ configuration: Configuration) {
        self.configuration = configuration
        destinations = DestinationTable(configuration)
    }

    /// Takes in the name of a queued operation.
    package mutating func note(_ name: EntryName) {
        guard let sequence = sequence(of: name) else { return }
        newest[sequence] = max(newest[sequence] ?? name.createdAt, name.createdAt)
    }

    /// Forgets the sequences whose operations are all from before this time.
    package mutating func forget(before time: Timestamp) { newest = newest.filter { $0.value >= time } }

    /// Returns the creation time for an operation accepted under this name at `time`: the name's own time if the newest
    /// time of its sequence is before `time`, otherwise a time after the newest. Never later than a name can carry.
    package func creation(of name: EntryName, at time: Timestamp) -> Timestamp {
        guard let sequence = sequence(of: name), let newest = newest[sequence], newest >= time else {
            return name.createdAt
        }
        return min(max(name.createdAt, newest + .microseconds(1)), .lastInNames)
    }

    private func sequence(of name: EntryName) -> SequenceKey? {
        let order = configuration.route(of: name.type).order
        guard order.isSequential else { return nil }
        return order.sequence(of: name, to: destinations.destination(of: name))
    }
}
