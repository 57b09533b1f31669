package import Policy
package import Spool

extension SpoolDirectory {
    /// Returns the events of a dead run's failures. First calls `record` with the failures that count towards a storm
    /// of their destination, by default to write them to the ledger. So the guard's bound holds if every run dies.
    package func events(
        of failures: [UntoldFailure], by configuration: Configuration, at now: Timestamp,
        recording record: (([(name: EntryName, event: DestinationEvent)]) throws(SpoolError) -> Void)? = nil
    ) throws(SpoolError) -> [AttemptEvent] {
        let table = try destinations(of: configuration)
        let storms = failures.compactMap { failure -> (name: EntryName, event: DestinationEvent)? in
            guard failure.isOfStorm, let status = failure.last?.status else { return nil }
            return (failure.entry.name, .failed(status: status, failure.entry.name.id))
        }
        if let record { try record(storms) } else { try self.record(storms, table, at: now) }
        return failures.map { AttemptEvent(of: $0, to: table.destination(of: $0.entry.name).name, at: now) }
    }

    /// Writes the delivery by a dead run to the ledger, unless nothing says when its request began. The delivery may
    /// have been the probe of a hold.
    package func recordDelivery(
        of name: EntryName, began: Timestamp?, by configuration: Configuration, at now: Timestamp
    ) throws(SpoolError) {
        guard let began else { return }
        try record([(name, .delivered(began: began, at: began))], try destinations(of: configuration), at: now)
    }

    private func destinations(of configuration: Configuration) throws(SpoolError) -> DestinationTable {
        KnownDestinations(configuration, try DestinationsFile(spool: self).read()).table
    }

    private func record(
        _ ends: [(name: EntryName, event: DestinationEvent)], _ table: DestinationTable, at now: Timestamp
    ) throws(SpoolError) {
        if ends.isEmpty { return }
        try DestinationsFile(spool: self).record(
            ends.map { (table.destination(of: $0.name).name, $0.event) },
            settings: { table.settings(of: Destination(named: $0)) }, at: now, durable: false)
    }
}

extension AttemptEvent {
    fileprivate convenience init(of failure: UntoldFailure, to destination: String, at now: Timestamp) {
        let (name, words) = (failure.entry.name, "its run died before it could record why")
        let record = failure.last ?? AttemptRecord(at: now, duration: .zero, outcome: .failed, rule: words)
        self.init(
            id: name.id, type: name.type, destination: destination,
            settlement: Settlement(ofFailed: record), attempts: name.attempts, attemptsAllowed: nil)
    }
}
