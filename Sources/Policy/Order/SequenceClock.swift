/// The newest time of creation in each sequence of a queue, so that what is added to one comes after all that stands in it,
/// also where the clock has been set back since: else the newest value of a key would count as an old one, and be
/// superseded.
package struct SequenceClock: Sendable {
    private let configuration: Configuration
    private let destinations: DestinationTable
    private var newest: [SequenceKey: Timestamp] = [:]

    package init(_ configuration: Configuration) {
        self.configuration = configuration
        destinations = DestinationTable(configuration)
    }

    /// Takes in the name of an operation that stands in the queue.
    package mutating func note(_ name: EntryName) {
        guard let sequence = sequence(of: name) else { return }
        newest[sequence] = max(newest[sequence] ?? name.createdAt, name.createdAt)
    }

    /// The time of creation for an operation that would be accepted under this name: its own, or the microsecond after the
    /// newest of its sequence. No time is later than a name can carry.
    package func creation(of name: EntryName) -> Timestamp {
        guard let sequence = sequence(of: name), let newest = newest[sequence] else { return name.createdAt }
        return min(max(name.createdAt, newest + .microseconds(1)), .lastInNames)
    }

    private func sequence(of name: EntryName) -> SequenceKey? {
        let route = configuration.route(of: name.type)
        guard route.isSequential else { return nil }
        return route.sequence(of: name, to: destinations.destination(of: name))
    }
}
