extension DestinationLedger {
    /// Returns what has changed for these destinations, as events of the log, in the order of the names.
    package func changes(to new: DestinationLedger, of names: Set<String>, at now: Timestamp) -> [LogEvent] {
        names.sorted().flatMap { self[$0].changes(to: new[$0], of: $0, at: now) }
    }
}

extension DestinationState {
    /// The failures in a row from which on a destination is down although its circuit breaker never opens.
    private static let failuresOfOutage = 5

    /// Whether the destination has failed so often in a row that it counts as down in the log.
    private var isOut: Bool { coolDowns > 0 || failures >= Self.failuresOfOutage }

    fileprivate func changes(to new: DestinationState, of name: String, at now: Timestamp) -> [LogEvent] {
        var events: [LogEvent] = []
        func add(_ kind: LogEvent.Kind, _ fill: (inout LogEvent) -> Void = { _ in }) {
            var event = LogEvent(kind, at: now, destination: name)
            fill(&event)
            events.append(event)
        }
        if !isOut, new.isOut {
            add(.down) { ($0.cause, $0.count, $0.since) = (new.lastFailure, new.failures, new.downSince) }
        }
        if isOut, !new.isOut { add(.up) { $0.since = downSince } }
        if let hold = new.hold, self.hold?.since != hold.since || self.hold?.isByHand != hold.isByHand {
            add(.held) { ($0.cause, $0.status) = (hold.reason, hold.status) }
        }
        if let hold, new.hold == nil { add(.released) { ($0.cause, $0.since) = (hold.reason, hold.since) } }
        if isPaused != new.isPaused { add(new.isPaused ? .paused : .resumed) }
        return events
    }
}
