package import Policy
package import Spool

extension SpoolDirectory {
    /// Returns what is to be told of the failures of a dead run. First counts those that it has withheld towards the
    /// storms of their destinations: an incident costs at most so many operations, also if every run of it dies.
    package func events(
        of failures: [UntoldFailure], by configuration: Configuration, at now: Timestamp
    ) throws(SpoolError) -> [AttemptEvent] {
        let table = try KnownDestinations(of: self, configuration, at: now).table
        let storms = failures.compactMap { failure -> (destination: String, event: DestinationEvent)? in
            guard failure.isUncounted, let status = failure.last?.status else { return nil }
            return (table.destination(of: failure.entry.name).name, .failed(status: status))
        }
        if !storms.isEmpty {
            try DestinationsFile(spool: self).record(
                storms, settings: { table.settings(of: Destination(named: $0)) }, at: now, durable: false)
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
