extension DestinationState {
    /// Applies an event at `now`. If the events of several runs are applied in another order, the state is as safe.
    package mutating func apply(_ event: DestinationEvent, _ settings: DestinationSettings, at now: Timestamp) {
        forgetImpossibleWaits(settings, at: now)
        switch event {
        case .answered: noteAnswer()
        case .delivered(let began, let at):
            noteAnswer()
            if isDisproved(by: began, at: now) { hold = nil }
            // A request from before the failures says nothing about the server since.
            if let storm, storm.at <= began || storm.at > now { self.storm = nil }
            // A delivery of another run may be told after what the server has asked for since.
            if !hasAsked(since: min(at, now), at: now) {
                if let notBefore, notBefore <= now { (self.notBefore, asked) = (nil, nil) }
                widen()
            }
            endIncident(with: min(at, now), at: now)
        case .unreachable(let name, let at):
            if isBeforeSuccess(at, at: now) { return }
            downSince = failures == 0 ? now : downSince ?? lastFailureAt ?? now
            failures = min(failures, Self.mostCounted - 1) + 1
            lastFailure = name
            lastFailureAt = now
            if incident == nil {
                incident = Incident(since: now, last: now, cause: Cause(failure: name), attempts: 0)
            }
            if window != nil { window = 1 }
            openCircuitBreakerIfNeeded(settings, at: now)
            noteTrouble(at: now)
        case .missed(let missed):
            var missed = missed
            (missed.since, missed.last) = (min(missed.since, now), min(missed.last, now))
            if isBeforeSuccess(missed.last, at: now) { return }
            if isBeforeSuccess(missed.since, at: now) { missed.since = lastSuccess! }
            incident = incident?.joined(by: missed) ?? missed
            noteTrouble(at: now)
        case .looked: noteTrouble(at: now)
        case .unnamed: endTrouble()
        case .retryAfter(let until):
            let until = min(until, now + Self.longestWait)
            if until >= notBefore ?? until { (notBefore, asked) = (until, now) }
            window = 1
        case .held(let reason, let status, let blamed, let cause, let began):
            if isReleased(since: began, at: now) { return }
            window = 1
            parking = Parking()
            if hold?.isByHand == true { return }
            // A hold that continues keeps its beginning and its last probe.
            hold = Hold(
                reason: reason, since: hold?.since ?? now, status: status, blamed: blamed, lastProbe: hold?.lastProbe,
                cause: cause)
        case .probed: hold?.lastProbe = now
        case .parked(let refusal, let moment): parking.park(refusal, at: min(moment, now))
        case .failed(let status, let id):
            let before = storm.flatMap { $0.status == status ? $0 : nil }
            // Recovery tells of a failure that its dead run has told.
            if before?.ids.contains(where: { $0 == id }) ?? false { return }
            storm = Storm(
                status: status, count: min(before?.count ?? 0, Self.mostCounted - 1) + 1, at: now,
                ids: ((before?.ids ?? []) + [id].compactMap(\.self)).suffix(Storm.mostKnown))
        case .overloaded(let inFlight):
            overload = overload?.joined(by: inFlight, at: now) ?? Overload(inFlight: inFlight, at: now)
        case .sustained(let inFlight):
            if let overload, overload.inFlight <= inFlight { self.overload = nil }
        case .brokeStream: http1Until = now + Self.longestHTTP1
        case .witnessed(let credentials, let began): parking.witness(credentials, began: began)
        case .unparked(let operation): parking.forget(operation)
        case .disproved(let began):
            storm = nil
            if isDisproved(by: began, at: now) { endHold() }
        case .blameChanged(let blamed):
            if parking.blamed == blamed { parking = Parking() }
            if let hold, !hold.isByHand, hold.blamed == blamed { endHold() }
        case .heldByHand(let reason):
            let since = hold?.isByHand == true ? hold?.since : nil
            hold = Hold(reason: reason, since: since ?? now, isByHand: true)
        case .released:
            self = DestinationState(isPaused: isPaused, released: now, window: 1, lastSuccess: lastSuccess)
        case .paused: isPaused = true
        case .resumed: isPaused = false
        }
    }

    /// Whether the destination has taken an operation after that time, as another run has told before. A delivery in
    /// the future is of a wrong clock.
    private func isBeforeSuccess(_ time: Timestamp, at now: Timestamp) -> Bool {
        lastSuccess.map { time < $0 && $0 <= now } ?? false
    }

    /// Whether the server has asked for time after that moment. A time in the future is of a wrong clock.
    private func hasAsked(since time: Timestamp, at now: Timestamp) -> Bool {
        asked.map { time < $0 && $0 <= now } ?? false
    }

    /// Whether a person has released the destination after that moment: an attempt from before says nothing about the
    /// server that the person has mended. A release in the future is of a wrong clock.
    private func isReleased(since time: Timestamp, at now: Timestamp) -> Bool {
        released.map { time < $0 && $0 <= now } ?? false
    }

    /// Ends the incident with a delivery. The attempts after it, of which another run has told before, stay.
    private mutating func endIncident(with delivery: Timestamp, at now: Timestamp) {
        if !isBeforeSuccess(delivery, at: now) { lastSuccess = delivery }
        guard var rest = incident, rest.since <= delivery || rest.since > now else { return }
        if rest.isDown { upSince = delivery }
        (rest.since, rest.isDown) = (delivery, false)
        incident = rest.last > delivery && rest.last <= now ? rest : nil
    }

    /// Records that the destination is down, if it is and no hold says so already.
    private mutating func noteTrouble(at now: Timestamp) {
        guard hold == nil, isDown(at: now) else { return }
        incident?.isDown = true
        upSince = nil
    }

    /// Ends what attempts have shown of a destination that nothing names any more. An operator's stop stays, and so
    /// does what its server asked for: a later operation may name the destination again.
    private mutating func endTrouble() {
        noteAnswer()
        (incident, upSince, parking) = (nil, nil, Parking())
        if let hold, !hold.isByHand { self.hold = nil }
    }

    /// Whether the end of an attempt that began at that time can end the hold: an attempt that was in flight when the
    /// hold began says nothing about the hold. A hold that begins in the future is of a wrong clock.
    private func isDisproved(by began: Timestamp, at now: Timestamp) -> Bool {
        guard let hold, !hold.isByHand else { return false }
        return hold.since <= began || hold.since > now
    }

    private mutating func endHold() {
        hold = nil
        window = 1
    }

    private mutating func noteAnswer() {
        failures = 0
        downSince = nil
        lastFailure = nil
        lastFailureAt = nil
        coolDownUntil = nil
        coolDowns = 0
    }

    /// Widens the window by one for each delivery: once a full window is delivered, it is twice as wide.
    private mutating func widen() {
        guard let window else { return }
        self.window = window + 1 < Self.widest ? window + 1 : nil
    }

    /// Opens the circuit breaker after `circuitBreaker` failures in a row; after a failed probe at once, and longer.
    private mutating func openCircuitBreakerIfNeeded(_ settings: DestinationSettings, at now: Timestamp) {
        guard settings.circuitBreaker > 0, coolDowns > 0 || failures >= settings.circuitBreaker else { return }
        // Attempts that were in flight when the circuit breaker opened do not extend its time.
        if let coolDownUntil, coolDownUntil > now { return }
        coolDownUntil = now + Self.coolDown(after: coolDowns, settings)
        coolDowns = min(coolDowns, Self.mostCounted - 1) + 1
        window = 1
    }

    /// Drops waits that are too far ahead: the clock has jumped back since they were set.
    private mutating func forgetImpossibleWaits(_ settings: DestinationSettings, at now: Timestamp) {
        if let notBefore, notBefore > now, wait(at: now) == nil { (self.notBefore, asked) = (nil, nil) }
        coolDownUntil = coolDown(settings, at: now) ?? coolDownUntil.flatMap { $0 <= now ? $0 : nil }
        if !needsHTTP1(at: now) { http1Until = nil }
    }

    /// The width from which on the window counts as open.
    static let widest = 64
    /// The upper bound of all counts.
    static let mostCounted = 1_000_000

    /// The first time of the open circuit breaker in an outage. It is short, so that a schedule of seconds works.
    static let firstCoolDown = Duration.seconds(1)

    /// Returns how long the circuit breaker stays open after `coolDowns` others in a row: 1 s, doubled each time, at
    /// most `settings.coolDown`.
    package static func coolDown(after coolDowns: Int, _ settings: DestinationSettings) -> Duration {
        var length = firstCoolDown
        for _ in 0..<min(coolDowns, mostDoublings) where length < settings.coolDown { length *= 2 }
        return min(length, settings.coolDown)
    }

    /// The number of doublings that takes a millisecond beyond any duration that a configuration can name.
    private static let mostDoublings = 64
}
