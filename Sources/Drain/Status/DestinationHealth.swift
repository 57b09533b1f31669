package import Policy

/// What is known of one destination, by its last attempts and the operations that wait for it. A circuit breaker says
/// less: a destination that answers each request and takes nothing never opens one.
package struct DestinationHealth: Hashable, Sendable {
    package enum State: Hashable, Sendable {
        /// An operator or a changed credential must end the hold.
        case held
        /// It takes nothing: it does not answer, or nothing has been delivered for a while.
        case down
        /// An operator has paused it.
        case paused
        /// The last attempt was no delivery, and that is not long ago.
        case missed
        /// Its server has asked for time, until then.
        case asked(until: Timestamp)
        /// The last attempt was a delivery.
        case well
        /// No attempt is known.
        case fresh
        /// No route and no waiting operation names it.
        case unnamed
    }

    package let name: String
    package var state: State
    /// The beginning of that state; `nil` if it is not known.
    package var since: Timestamp?
    /// Why: what the hold is for, or the last attempt was no delivery.
    package var cause: Cause?
    /// The number of operations that wait, for whatever reason, or are in flight.
    package var waiting: Int
    package var failed: Int

    package var isTrouble: Bool { state == .held || state == .down }

    /// Whether its server answers, and takes nothing all the same.
    package var answersWithoutTaking: Bool {
        guard state == .down, let status = cause?.status else { return false }
        return ![502, 503, 504].contains(status)
    }

    /// Whether no request can be made, because a command or a token endpoint gives no credentials.
    package var lacksCredentials: Bool { state == .down && cause?.code == .request }
}

extension QueueCount.DestinationCount {
    /// The number of operations that wait, for whatever reason, or are in flight.
    package var waiting: Int { [.new, .deferred, .held, .claimed].reduce(0) { $0 + (operations[$1] ?? 0) } }

    /// Returns what is known of the destination. A trouble without an operation that waits or failed is nobody's.
    package func health(at now: Timestamp) -> DestinationHealth {
        let failed = operations[.failed] ?? 0
        func make(_ health: DestinationHealth.State, since: Timestamp? = nil, _ cause: Cause? = nil)
            -> DestinationHealth
        {
            DestinationHealth(
                name: destination.name, state: health, since: since.map { min($0, now) }, cause: cause,
                waiting: waiting, failed: failed)
        }
        if !isNamed, waiting == 0 { return make(.unnamed) }
        if let hold = state.hold { return make(.held, since: hold.since, hold.shownCause) }
        if state.isPaused { return make(.paused, since: state.trouble?.since, state.trouble?.cause) }
        if let incident = state.trouble {
            let isDown = state.isDown(at: now) && waiting + failed > 0
            return make(isDown ? .down : .missed, since: incident.since, incident.cause)
        }
        if case .blocked(let block) = availability, block.reason == .retryAfter, let until = block.until {
            return make(.asked(until: until))
        }
        return state.lastSuccess == nil ? make(.fresh) : make(.well, since: state.upSince)
    }
}
