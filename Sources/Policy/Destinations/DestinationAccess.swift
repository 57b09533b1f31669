/// What one destination may be sent within a run: what was known of it when the run began, and what has been learned since.
package struct DestinationAccess: Hashable, Sendable {
    package let settings: DestinationSettings
    /// As the ledger has it, with what this run has learned since.
    package var state: DestinationState
    /// What the ledger has not been told yet.
    package var events: [DestinationEvent] = []
    /// Why nothing more goes there in this pass.
    package var block: Availability.Block?
    /// One attempt has to succeed before there are more.
    package private(set) var isProbing = false

    package init(_ settings: DestinationSettings, _ state: DestinationState) {
        self.settings = settings
        self.state = state
    }

    /// How many attempts may be in flight.
    package var allowance: Int {
        if block != nil { return 0 }
        if isProbing { return 1 }
        return min(state.window ?? .max, settings.concurrency ?? .max)
    }

    /// Opens or closes by what is known at `now`.
    package mutating func open(at now: Timestamp, ignoringCoolDown: Bool) {
        switch state.availability(settings, at: now, ignoringCoolDown: ignoringCoolDown) {
        case .open:
            block = nil
            isProbing = false
        case .probe:
            block = nil
            isProbing = true
        case .closed(let reason): block = reason
        }
    }

    /// Takes over what a person has said since, as the ledger has it: a pause, or a hold by hand. No later answer opens
    /// the destination again.
    package mutating func hear(_ told: DestinationState) {
        if told.isPaused {
            state.isPaused = true
            block = .init(.paused)
        }
        if let hold = told.hold, hold.isByHand {
            state.hold = hold
            block = .init(.held)
        }
    }

    /// Takes an event in, for this run at once and for the ledger later.
    package mutating func note(_ event: DestinationEvent, at now: Timestamp, ignoringCoolDown: Bool) {
        state.apply(event, settings, at: now)
        // Of answers that go on saying the same nothing is lost by telling the ledger once.
        let saysTheSame = events.last == event && state.window == nil && (event == .answered || event == .delivered)
        if !saysTheSame { events.append(event) }
        switch event {
        case .delivered: open(at: now, ignoringCoolDown: ignoringCoolDown)
        case .answered, .resumed, .probed, .parked, .witnessed, .unparked, .failed: break
        case .unreachable:
            // With --now the cool-down that was there before is ignored, not the one that begins here.
            if state.coolDownUntil.map({ $0 > now }) ?? false {
                block = .init(.circuitBreaker, until: state.coolDownUntil)
            }
        case .retryAfter(let until): block = .init(.retryAfter, until: until)
        case .held, .heldByHand: block = .init(.held)
        case .paused: block = .init(.paused)
        case .released, .blameChanged, .disproved: open(at: now, ignoringCoolDown: ignoringCoolDown)
        }
    }
}
