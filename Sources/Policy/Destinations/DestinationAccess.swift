/// The attempts that a destination may get within a run: its state when the run began, and the events since.
package struct DestinationAccess: Hashable, Sendable {
    package let settings: DestinationSettings
    /// As the ledger has it, with what this run has learned since.
    package var state: DestinationState
    /// The events that are not in the ledger yet.
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

    /// Takes over what another run has learned since, as the ledger has it: the server asks for time, or the circuit breaker
    /// has opened. What this run knew when its pass began, and ignores (`--now`), it goes on ignoring.
    package mutating func learn(_ told: DestinationState, at now: Timestamp) {
        if block != nil { return }
        if told.notBefore != state.notBefore, let until = told.wait(at: now) {
            state.notBefore = until
            block = .init(.retryAfter, until: until)
        } else if told.coolDownUntil != state.coolDownUntil, let until = told.coolDown(settings, at: now) {
            (state.coolDownUntil, state.coolDowns, state.failures) = (until, told.coolDowns, told.failures)
            block = .init(.circuitBreaker, until: until)
        }
        if block != nil { state.window = 1 }
    }

    /// Takes an event in, for this run at once and for the ledger later.
    package mutating func note(_ event: DestinationEvent, at now: Timestamp, ignoringCoolDown: Bool) {
        state.apply(event, settings, at: now)
        // The ledger needs only one of several equal events.
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
