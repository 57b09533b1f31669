package import Policy
package import Spool

extension SpoolDirectory {
    /// Returns the events of a dead run's failures and deliveries. First calls `record` with the failures that count
    /// towards a storm of their destination, by default to write them to the ledger. So the guard's bound holds if
    /// every run dies.
    package func events(
        of ends: [UntoldEnd], by configuration: Configuration, at now: Timestamp,
        recording record: (([(destination: Destination, event: DestinationEvent)]) throws(SpoolError) -> Void)? = nil
    ) throws(SpoolError) -> [AttemptEvent] {
        let table = try destinations(of: configuration)
        func destination(of end: UntoldEnd) -> Destination { table.destination(of: end.entry.name, url: end.url) }
        let storms = ends.compactMap { end -> (destination: Destination, event: DestinationEvent)? in
            guard end.isOfStorm, let status = end.last?.status else { return nil }
            return (destination(of: end), .failed(status: status, end.entry.name.id))
        }
        if let record { try record(storms) } else { try self.record(storms, table, at: now) }
        return ends.map { AttemptEvent(of: $0, to: destination(of: $0).name, at: now) }
    }

    /// Writes the delivery by a dead run to the ledger, unless nothing says when its request began. The delivery may
    /// have been the probe of a hold.
    package func recordDelivery(
        of name: EntryName, url: String?, began: Timestamp?, by configuration: Configuration, at now: Timestamp
    ) throws(SpoolError) {
        guard let began else { return }
        let table = try destinations(of: configuration)
        try record([(table.destination(of: name, url: url), .delivered(began: began, at: began))], table, at: now)
    }

    private func destinations(of configuration: Configuration) throws(SpoolError) -> DestinationTable {
        KnownDestinations(configuration, try DestinationsFile(spool: self).read()).table
    }

    private func record(
        _ ends: [(destination: Destination, event: DestinationEvent)], _ table: DestinationTable, at now: Timestamp
    ) throws(SpoolError) {
        if ends.isEmpty { return }
        try DestinationsFile(spool: self).record(
            ends.map { ($0.destination.name, $0.event) },
            settings: { table.settings(of: Destination(named: $0)) }, at: now, durable: false)
    }
}

extension AttemptEvent {
    fileprivate convenience init(of end: UntoldEnd, to destination: String, at now: Timestamp) {
        func record(_ outcome: Outcome, _ words: String) -> AttemptRecord {
            end.last ?? AttemptRecord(at: now, duration: .zero, outcome: outcome, rule: words)
        }
        let settlement =
            end.entry.state == .delivered
            ? Settlement(ofDelivered: record(.delivered, "its run died after the delivery"))
            : Settlement(ofFailed: record(.failed, "its run died before it could record why"))
        self.init(
            id: end.entry.name.id, type: end.entry.name.type, destination: destination, settlement: settlement,
            attempts: end.entry.name.attempts, attemptsAllowed: nil)
    }
}
