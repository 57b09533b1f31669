/// The attempts that a destination may get within one run, by its state when the run began and the events since.
package struct DestinationAccess: Hashable, Sendable {
    package let settings: DestinationSettings
    /// The state in the ledger, with what this run has learned since.
    package var state: DestinationState
    /// The events that are not in the ledger yet.
    package var events: [DestinationEvent] = []
    /// Why the destination gets no more attempts in this pass; `nil` if it may get some.
    package var block: Availability.Block?
    /// Whether one attempt must succeed before the destination gets more.
    package private(set) var isProbing = false
    /// The adaptive limit; `nil` unless `--concurrency` is `auto`.
    package private(set) var concurrency: AdaptiveConcurrency?

    /// The number of attempts that may be in flight.
    package var concurrencyLimit: Int {
        if let block { return block.stops(attempts: 1) ? 0 : 1 }
        if isProbing { return 1 }
        return min(state.window ?? .max, settings.concurrency ?? .max, concurrency?.limit ?? .max)
    }

    /// Blocks the destination, or ends its block, by its state at `now`.
    package mutating func update(at now: Timestamp, ignoringCircuitBreaker: Bool) {
        switch state.availability(settings, at: now, ignoringCircuitBreaker: ignoringCircuitBreaker) {
        case .available:
            block = nil
            isProbing = false
        case .probe:
            block = nil
            isProbing = true
        case .blocked(let block): self.block = block
        }
    }

    /// Takes over an operator's pause or hold by hand from the ledger. No later answer ends the block.
    package mutating func adoptOperatorStop(_ told: DestinationState) {
        if told.isPaused {
            state.isPaused = true
            block = .init(.paused)
        }
        if let hold = told.hold, hold.isByHand {
            state.hold = hold
            block = .init(.held)
        }
    }

    /// Takes over from the ledger another run's hold.
    package mutating func adoptHold(_ told: DestinationState) {
        guard let hold = told.hold, state.hold == nil else { return }
        state.hold = hold
        state.window = 1
        block = .init(.held)
    }

    /// Takes over from the ledger what other runs have learned: a retry-after, an open circuit breaker, an overload.
    /// This run goes on ignoring a block that it knew when its pass began, and ignored (`--now`).
    package mutating func adoptOtherRuns(_ told: DestinationState, at now: Timestamp) {
        state.overload = told.overload
        concurrency?.keep(below: state.overload, at: now)
        if block != nil { return }
        if told.notBefore != state.notBefore, let until = told.wait(at: now) {
            (state.notBefore, state.asked) = (until, told.asked)
            block = .init(.retryAfter, until: until)
        } else if told.coolDownUntil != state.coolDownUntil, let until = told.coolDown(settings, at: now) {
            (state.coolDownUntil, state.coolDowns, state.failures) = (until, told.coolDowns, told.failures)
            block = .init(.circuitBreaker, until: until)
        }
        if block != nil { state.window = 1 }
    }

    /// Notes that an attempt begins as number `inFlight` in flight. Returns `nil` if the limit is not adaptive.
    package mutating func begin(inFlight: Int) -> AdaptiveConcurrency.Start? {
        concurrency?.begin(inFlight: inFlight)
    }

    /// Adapts the limit to the end of an attempt, described by its `events`.
    package mutating func adapt(
        to events: [DestinationEvent], of start: AdaptiveConcurrency.Start, after duration: Duration, at now: Timestamp
    ) {
        // A limit that a delivery announces is no sign of too many attempts at once.
        let asksForTime =
            !events.contains(where: \.isDelivery)
            && events.contains { if case .retryAfter = $0 { true } else { false } }
        let isAway = events.contains { if case .unreachable = $0 { true } else { false } }
        if asksForTime || isAway {
            // A server that is away does not show its limits.
            if let tooMany = concurrency?.noteRefusal(of: start), asksForTime {
                applyOverload(.overloaded(inFlight: tooMany), at: now)
            }
        } else if events.contains(where: \.isDelivery) {
            let overload = state.overload
            if let over = concurrency?.delivered(start, after: duration, overload: overload, at: now) {
                applyOverload(.sustained(inFlight: over.inFlight), at: now)
            }
        }
    }

    private mutating func applyOverload(_ event: DestinationEvent, at now: Timestamp) {
        state.apply(event, settings, at: now)
        events.append(event)
        concurrency?.keep(below: state.overload, at: now)
    }

    /// Divides the server's capacity among this number of runs.
    package mutating func share(with runs: Int, at now: Timestamp) {
        concurrency?.share(with: runs, overload: state.overload, at: now)
    }

    /// Joins an attempt that was no delivery with the ones before it, unless a delivery or an operator's event stands
    /// between them: many answers need little memory.
    private mutating func join(_ event: DestinationEvent) -> Bool {
        guard case .missed(let missed) = event else { return false }
        for index in events.indices.reversed() {
            switch events[index] {
            case .missed(let earlier):
                events[index] = .missed(earlier.joined(by: missed))
                return true
            case .answered, .unreachable, .retryAfter, .failed, .parked, .unparked, .overloaded, .brokeStream: continue
            default: return false
            }
        }
        return false
    }

    /// Applies an event to this run at once, and keeps it for the ledger.
    package mutating func apply(_ event: DestinationEvent, at now: Timestamp, ignoringCircuitBreaker: Bool) {
        state.apply(event, settings, at: now)
        let event = event.happened(at: now)
        // The ledger needs only one of several equal events; of deliveries, the one that began last.
        if state.window == nil, let last = events.last, let both = event.joined(to: last) {
            events[events.count - 1] = both
        } else if !join(event) {
            events.append(event)
        }
        switch event {
        // This run's block of a held destination ends with the hold only.
        case .delivered where state.hold != nil: break
        case .delivered: update(at: now, ignoringCircuitBreaker: ignoringCircuitBreaker)
        case .answered, .resumed, .probed, .parked, .witnessed, .unparked, .failed, .overloaded, .sustained,
            .brokeStream, .missed, .looked:
            break
        case .unreachable:
            // `--now` ignores a circuit breaker that was open before, not one that opens here.
            if state.coolDownUntil.map({ $0 > now }) ?? false {
                block = .init(.circuitBreaker, until: state.coolDownUntil)
            }
        case .retryAfter(let until): block = .init(.retryAfter, until: until)
        case .held, .heldByHand: block = .init(.held)
        case .paused: block = .init(.paused)
        case .released, .blameChanged, .disproved, .unnamed:
            update(at: now, ignoringCircuitBreaker: ignoringCircuitBreaker)
        }
    }
}
