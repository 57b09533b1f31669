package import Policy
package import Spool

extension SpoolDirectory {
    /// Returns the events of a dead run's failures. First calls `record` with the failures that count towards a storm
    /// of their destination, by default to write them to the ledger. So the guard's bound holds if every run dies.
    package func events(
        of failures: [UntoldFailure], by configuration: Configuration, at now: Timestamp,
        recording record: (([(name: EntryName, event: DestinationEvent)]) throws(SpoolError) -> Void)? = nil
    ) throws(SpoolError) -> [AttemptEvent] {
        let table = try KnownDestinations(of: self, configuration, at: now).table
        let storms = failures.compactMap { failure -> (name: EntryName, event: DestinationEvent)? in
            guard failure.isOfStorm, let status = failure.last?.status else { return nil }
            return (failure.entry.name, .failed(status: status, failure.entry.name.id))
        }
        if let record {
            try record(storms)
        } else if !storms.isEmpty {
            try DestinationsFile(spool: self).record(
                storms.map { (table.destination(of: $0.name).name, $0.event) },
                settings: { table.settings(of: Destination(named: $0)) }, at: now, durable: false)
        }
        return failures.map { AttemptEvent(of: $0, to: table.destination(of: $0.entry.name).name, at: now) }
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
