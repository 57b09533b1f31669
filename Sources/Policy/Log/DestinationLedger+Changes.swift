extension DestinationLedger {
    /// Returns what has changed for these destinations, as events of the log, in the order of the names.
    package func changes(to new: DestinationLedger, of names: Set<String>, at now: Timestamp) -> [LogEvent] {
        names.sorted().flatMap { self[$0].changes(to: new[$0], of: $0, at: now) }
    }
}

extension DestinationState {
    /// Returns what began and what ended between two states of a destination.
    func changes(to new: DestinationState, of name: String, at now: Timestamp) -> [LogEvent] {
        var events: [LogEvent] = []
        func add(_ kind: LogEvent.Kind, _ cause: Cause? = nil, _ fill: (inout LogEvent) -> Void = { _ in }) {
            var event = LogEvent(kind, at: now, destination: name)
            if let cause { event.take(cause) }
            fill(&event)
            events.append(event)
        }
        let (incident, next) = (self.incident, new.incident)
        if let incident, incident.isDown, next?.isDown != true {
            let ending = lastSuccess == new.lastSuccess ? LogEvent.Ending.forgotten : .delivery
            add(.up, incident.cause) {
                ($0.since, $0.count, $0.ended) = (incident.since, incident.attempts, ending.rawValue)
            }
        }
        if let next, next.isDown, incident?.isDown != true {
            add(.down, next.cause) { ($0.since, $0.count) = (next.since, max(next.attempts, new.failures)) }
        }
        if let hold, new.hold.map({ $0.since != hold.since && $0.isByHand == hold.isByHand }) ?? true {
            add(.released, hold.shownCause) { $0.since = hold.since }
        }
        if new.needsHTTP1(at: now), !needsHTTP1(at: now) { add(.http1, new.lastFailure.map { Cause(failure: $0) }) }
        if let hold = new.hold, self.hold?.since != hold.since || self.hold?.isByHand != hold.isByHand {
            add(.held, hold.shownCause) { if hold.cause != nil { $0.rule = hold.reason } }
        }
        if isPaused != new.isPaused { add(new.isPaused ? .paused : .resumed) }
        return events
    }
}

extension DestinationState.Hold {
    /// What the hold is for. A hold by hand, and one of an earlier version, has its reason as the words.
    package var shownCause: Cause { cause ?? Cause(words: reason) }
}
