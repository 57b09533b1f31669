package import Policy
package import Spool

/// An operator's change to destinations: their holds and pauses.
package struct DestinationChange {
    private let spool: SpoolDirectory
    private let configuration: Configuration
    private let clock: RunClock

    package init(in spool: SpoolDirectory, _ configuration: Configuration, clock: RunClock) {
        self.spool = spool
        self.configuration = configuration
        self.clock = clock
    }

    /// Whether the queue knows the destination. It may be known only from an operation with its own URL.
    package func isKnown(_ destination: Destination, _ known: KnownDestinations) throws(SpoolError) -> Bool {
        if known.isKnown(destination) { return true }
        var found = false
        for state in QueueState.standing where !found {
            try spool.forEachEntry(in: state) {
                found = found || known.table.destination(of: $0.name).digest == destination.digest
            }
        }
        return found
    }

    /// Returns the names of the destinations for which `release` has something to end.
    package func closed(_ known: KnownDestinations) -> [String] {
        known.states.filter { !$0.value.isOpen }.map(\.key).sorted()
    }

    /// Records the event for the destinations, durably. Returns what has changed, for the log.
    @discardableResult
    package func record(_ event: DestinationEvent, of names: [String]) throws(SpoolError) -> [LogEvent] {
        if names.isEmpty { return [] }
        let table = DestinationTable(configuration)
        return try DestinationsFile(spool: spool).record(
            names.map { ($0, event) }, settings: { table.settings(of: Destination(named: $0)) },
            at: clock.now(), durable: true, knowing: nil
        ).changes
    }
}

extension DestinationState {
    /// Whether `release` has nothing to end.
    package var isOpen: Bool {
        hold == nil && coolDownUntil == nil && notBefore == nil && http1Until == nil && parking.isEmpty
    }
}
