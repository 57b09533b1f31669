/// All decisions of a run about one destination: its attempts now, and the meaning of each end of an attempt for the
/// destination and for its operations.
///
/// Events go in, effects come out, and the run obeys. The circuit breaker, holds, the storm guard, parking and the
/// adaptive limit are parts of the control; nothing else changes the state of a destination within a run.
package struct DestinationControl: ~Copyable {
    package typealias End = AttemptEnd
    package typealias Effect = DestinationEffect

    /// Its name and digest.
    package private(set) var destination: Destination
    private var access: DestinationAccess
    /// Whether to ignore a circuit breaker that was open before the run (`--now`).
    package var ignoresCircuitBreaker = false
    /// Whether conditions of this machine are not met for the destination: the configuration's, or a network.
    package var lacksConditions = false
    /// Whether this machine may have no network. A single attempt has to find out first.
    package var isCautious = false
    /// Whether the run sends nothing to the destination before its next pass: other processes have all of the
    /// destination's concurrency, or the destination costs the run time while its circuit breaker is open.
    package var isLeftForNow = false
    /// Whether an attempt of this run to the destination has ended with a report that is not `isSuspect`.
    package private(set) var hasReported = false
    /// The guard over this run's permanent answers.
    private var storm: StormGuard<End>
    /// `nil` while no answer would hold the destination.
    private var holds: HoldGuard?

    package init(
        _ destination: Destination, _ settings: DestinationSettings, _ state: DestinationState,
        concurrency: AdaptiveConcurrency? = nil
    ) {
        self.destination = destination
        access = DestinationAccess(settings: settings, state: state, concurrency: concurrency)
        storm = StormGuard(threshold: settings.stormGuard)
    }

    package var settings: DestinationSettings { access.settings }

    /// The ledger's state, with what this run has learned since.
    package var state: DestinationState { access.state }

    package var isHeld: Bool { access.state.hold != nil }

    /// Whether a request needs HTTP/1.1, although its server may speak HTTP/2.
    package func needsHTTP1(at now: Timestamp) -> Bool { access.state.needsHTTP1(at: now) }

    // MARK: - Admission of attempts

    /// The reason to send nothing more to the destination in this pass; `nil` if there is none.
    package var block: Availability.Block? { access.block }

    package var isProbing: Bool { access.isProbing }

    /// Whether the destination gets no attempts now, except for operations that keep their schedule.
    package var isBlocked: Bool { !admits(attempts: 0) }

    /// Whether an operation may get an attempt now, after this number of attempts.
    package func admits(attempts: Int) -> Bool {
        !lacksConditions && !isLeftForNow && !(block?.stops(attempts: attempts) ?? false)
    }

    /// The most attempts of the dispatch order that may be in flight.
    package var concurrencyLimit: Int {
        !admits(attempts: 1) || isSampling ? 0 : min(access.concurrencyLimit, isCautious ? 1 : .max)
    }

    /// Whether samples are being sent, and nothing else.
    package var isSampling: Bool { storm.phase == .sampling || holds?.storm.phase == .sampling }

    /// The ends without effect before others have been asked.
    package var withheld: [End] { storm.withheld + (holds?.storm.withheld ?? []) }

    package var isWithholding: Bool { !storm.withheld.isEmpty || !(holds?.storm.withheld.isEmpty ?? true) }

    /// The evidence that its attempts end soon.
    package var trust: DispatchOrder.Trust {
        access.state.failures > 0 ? .fails : access.state.lastSuccess == nil ? .unknown : .delivers
    }

    /// Whether an operation waits for a witness.
    package func isParked(_ operation: Age) -> Bool { access.state.parking[operation] != nil }

    // MARK: - Learning from others

    /// Takes over the ledger's state at the beginning of a pass.
    package mutating func read(_ recorded: DestinationState, at now: Timestamp) {
        access.state = recorded
        // A circuit breaker that opened after this run met the destination is not overridden at each listing.
        access.update(at: now, ignoringCircuitBreaker: ignoresCircuitBreaker && !hasReported)
    }

    /// Takes over, within a pass, what operators and other runs have recorded: only what operators have recorded while
    /// events of this run are not in the ledger, and while answers are withheld only holds besides. What another run
    /// has found stops operations that are sent again, too; and its hold answers what this run tests.
    package mutating func adopt(_ recorded: DestinationState, at now: Timestamp) {
        access.adoptOperatorStop(recorded)
        if !access.events.isEmpty { return }
        access.adoptHold(recorded)
        if withheld.isEmpty { access.adoptOtherRuns(recorded, at: now) }
    }

    /// Takes its name from an operation that was read, because an entry's name has only the digest of the origin.
    /// Returns whether the name is new.
    package mutating func takeName(of operation: Operation) -> Bool {
        guard let name = operation.header.url.flatMap({ Origin(url: $0)?.description }), name != destination.name,
            Digest(of: name) == destination.digest
        else { return false }
        destination.name = name
        return true
    }

    /// Divides the concurrency that the server sustains among `runs` runs.
    package mutating func share(with runs: Int, at now: Timestamp) { access.share(with: runs, at: now) }

    /// Applies an event, for this run at once and for the ledger later.
    package mutating func apply(_ event: DestinationEvent, at now: Timestamp) {
        access.apply(event, at: now, ignoringCircuitBreaker: ignoresCircuitBreaker)
    }

    /// Whether events are not in the ledger yet.
    package var hasNews: Bool { !access.events.isEmpty }

    /// Removes and returns the events that are not in the ledger yet.
    package mutating func takeEvents() -> [DestinationEvent] {
        defer { access.events = [] }
        return access.events
    }

    // MARK: - Attempts

    /// Begins the storm guard of a pass, which counts on from earlier runs. Lowers its threshold to the number of
    /// chosen operations if more are due: otherwise a limit of three would fail a whole queue, three by three.
    package mutating func beginPass(chosen: Int, hasMore: Bool) {
        let threshold = settings.stormGuard
        storm = StormGuard(
            threshold: hasMore ? min(threshold, chosen) : threshold, limit: threshold, before: state.storm)
    }

    /// Notes that an attempt begins as number `inFlight` in flight. Returns `nil` if the concurrency does not adapt.
    package mutating func begin(inFlight: Int) -> AdaptiveConcurrency.Start? { access.begin(inFlight: inFlight) }

    /// Notes that a probe of the hold begins, as the ledger already says; `isTaken`: another process has begun a probe.
    package mutating func beginProbe(isTaken: Bool, at now: Timestamp) {
        if isTaken {
            access.block = Availability.Block(.held)
        } else {
            access.state.apply(.probed, settings, at: now)
        }
    }

    /// Notes the end of an attempt with a report that is not `isSuspect`.
    package mutating func noteReport() { (hasReported, isCautious) = (true, false) }
}

// MARK: - Ends of attempts

extension DestinationControl {
    /// The duration from which on a failed attempt, while the circuit breaker is open, costs other destinations time.
    private static var slowFailure: Duration { .seconds(1) }

    /// Decides on the end of an attempt: first what it says about the destination, then what becomes of the operations.
    ///
    /// The guards may withhold an answer that is permanent or would hold the destination, until others have been asked.
    /// The operations stay claimed meanwhile; after a crash they are sent again. `prints` make the ledger's texts.
    package mutating func take(_ end: End, prints: Fingerprints, at now: Timestamp) -> [Effect] {
        learn(from: end, prints, at: now)
        let verdict = end.verdict
        if end.facts.isProbe {
            if isStillHeld(after: verdict) {
                // The probed operation is as blameless as the others. The hold goes on, for the cause of this probe.
                return [hold(end, as: verdict.becoming(.held, rule: verdict.rule))]
            }
            if verdict.outcome == .failed { apply(.disproved(began: end.facts.began), at: now) }
            // A deferred probe does not decide, and this pass sends no other probe: the hold goes on.
            if verdict.outcome == .deferred { access.block = Availability.Block(.held) }
        }
        if end.isRefusal {
            if isProvenGuilty(end, prints) { return [fail(end)] }
            if end.facts.credentials.areOwn, !end.facts.isProbe { return park(end, prints, at: now) }
        }
        if verdict.outcome == .held, holds == nil {
            guard answer(of: end) != nil else { return [hold(end, as: verdict)] }
            beginHoldGuard(with: end, at: now)
            if end.isRefusal, end.facts.operations.count > 1 { return [.askOne(end)] }
        }
        return judge(end, prints: prints, at: now)
    }

    /// Decides what becomes of the operations of an attempt.
    package mutating func judge(_ end: End, prints: Fingerprints, at now: Timestamp) -> [Effect] {
        if end.isContradicted, end.verdict.outcome == .failed { return [.settle(end, as: end.verdict)] }
        let isFromBefore = isFromBefore(end)
        guard let answer = isFromBefore && holds == nil ? .other : answer(of: end), holds != nil || storm.minds(answer)
        else { return [.settle(end, as: end.verdict)] }
        if holds == nil {
            if case .permanent = answer { end.releasesSequence = end.verdict.outcome == .failed && storm.withholds }
            let effects = follow(storm.take(end, answer, isSample: end.facts.isSample), prints, at: now)
            return end.releasesSequence ? [.release(end)] + effects : effects
        }
        // A delivery clears both guards.
        var cleared: [Effect] = []
        if answer == .delivered, !isFromBefore, case .apply(let ends) = storm.take(end, .delivered) {
            cleared = apply(ends.dropLast(), isContradicted: true, prints, at: now)
        }
        return cleared + follow(holds!.take(end, answer), prints, at: now)
    }

    /// Decides on a failure of a route's command. Another operation of the same credentials has to confirm the failure
    /// before the destination is held, and shows otherwise that the operation has to wait alone.
    package mutating func doubt(_ end: End, prints: Fingerprints, at now: Timestamp) -> [Effect] {
        if holds == nil { beginHoldGuard(with: end, at: now) }
        return follow(holds!.take(end, .permanent(0)), prints, at: now)
    }

    /// Concludes when no other operation of this destination can be asked: none waits or is in flight, or the pass
    /// ends. Without a network the answers decide nothing: the operations are put back.
    package mutating func concludeAlone(prints: Fingerprints, at now: Timestamp) -> [Effect] {
        if lacksConditions {
            let ends = withheld
            holds = nil
            storm = StormGuard(threshold: storm.threshold, limit: settings.stormGuard, before: state.storm)
            return ends.map { .settle($0, as: $0.verdict.becoming(.held, rule: $0.verdict.rule)) }
        }
        return follow(holds?.concludeAlone() ?? storm.concludeAlone(), prints, at: now)
    }

    /// Applies what the end says about the destination, except a hold.
    package mutating func learn(from end: End, _ prints: Fingerprints, at now: Timestamp) {
        let events = DestinationEvent.events(
            of: end.report, end.verdict, route: end.facts.route.value, blamed: nil, began: end.facts.began, now: now)
        for event in events {
            if case .held = event { continue }
            apply(event, at: now)
            if event.isDelivery { witness(end.facts, prints, at: now) }
        }
        if let missed = Incident(end, at: now) { apply(.missed(missed), at: now) }
        if let start = end.facts.start { access.adapt(to: events, of: start, after: end.report.duration, at: now) }
        if end.report.duration > Self.slowFailure, block?.reason == .circuitBreaker { isLeftForNow = true }
    }

    // MARK: Parts

    /// Records a delivery as the witness of parked operations with the same credentials.
    private mutating func witness(_ facts: End.Facts, _ prints: Fingerprints, at now: Timestamp) {
        if state.parking.isEmpty { return }
        for operation in facts.operations where isParked(operation) { apply(.unparked(operation), at: now) }
        apply(.witnessed(credentials: prints.mark(facts.credentials), began: facts.began), at: now)
    }

    /// Whether a probe met the same end that the destination is held for.
    private func isStillHeld(after verdict: Verdict) -> Bool {
        guard let hold = state.hold else { return false }
        return verdict.outcome == .held || verdict.status != nil && verdict.status == hold.status
    }

    /// The guards' view of an end; `nil` if no server has answered. A sample without an answer tells nothing of others.
    private func answer(of end: End) -> StormGuard<End>.Answer? {
        StormGuard<End>.Answer(end.verdict) ?? (end.facts.isSample ? .other : nil)
    }

    /// Whether a delivery answers a request from before the first withheld one: it says nothing about the server since.
    private func isFromBefore(_ end: End) -> Bool {
        guard end.verdict.outcome == .delivered, let first = storm.withheld.first else { return false }
        return end.facts.began < first.facts.began
    }

    private mutating func beginHoldGuard(with end: End, at now: Timestamp) {
        holds = HoldGuard(beginningWith: end.isRefusal || end.isUnsent ? .init(end: end, answered: now) : nil)
    }

    private mutating func follow(_ step: StormGuard<End>.Step, _ prints: Fingerprints, at now: Timestamp) -> [Effect] {
        switch step {
        case .wait: return []
        case .sample:
            // One sample shows whether credentials are refused, and a server may count refusals against the client.
            guard let holds else { return [.sample(upTo: StormGuard<End>.samples)] }
            return [.sampleOne(like: holds.refused?.end)]
        case .apply(let ends):
            removeEmptyHoldGuard()
            let isContradicted = ends.contains { $0.verdict.outcome == .delivered }
            return apply(ends, isContradicted: isContradicted, prints, at: now)
        case .hold(let ends, let status):
            removeEmptyHoldGuard()
            let count = ends.count + storm.failed(with: status)
            return ends.map { end in
                let verdict = end.verdict
                return hold(
                    end,
                    as: verdict.outcome == .held
                        ? verdict : verdict.becoming(.held, rule: .storm(status: status, answers: count)))
            }
        }
    }

    /// Lets withheld answers take effect. `isContradicted`: a delivery shows that they are about their operations
    /// alone.
    private mutating func apply(
        _ ends: [End], isContradicted: Bool, _ prints: Fingerprints, at now: Timestamp
    ) -> [Effect] {
        var parking = state.parking
        return ends.map { end in
            end.isContradicted = isContradicted
            if end.verdict.outcome != .held { return .settle(end, as: end.verdict) }
            return isContradicted ? contradict(end) : conclude(end, &parking, prints, at: now)
        }
    }

    private mutating func hold(_ end: End, as verdict: Verdict) -> Effect {
        access.block = Availability.Block(.held)
        return .hold(end, as: verdict)
    }

    private mutating func removeEmptyHoldGuard() {
        if holds?.storm.withheld.isEmpty ?? false { holds = nil }
    }

    // MARK: Refusals of credentials

    /// Whether the operation was refused twice with the credentials with which another one was delivered.
    private func isProvenGuilty(_ end: End, _ prints: Fingerprints) -> Bool {
        guard end.facts.operations.count == 1, !end.facts.isShared else { return false }
        if end.facts.witnessed == end.facts.credentials { return true }
        return !state.parking.isEmpty
            && refusals(of: end, prints).contains { state.parking.decision(on: $0) == .fail }
    }

    /// Sends a refused operation once more, alone and with the credentials of that moment, because another operation
    /// was delivered with the same credentials. Withholds an unsent operation. Defers any other answer.
    private func contradict(_ end: End) -> Effect {
        if end.isUnsent { return .withhold(end) }
        let verdict = end.verdict
        guard end.isRefusal else {
            return .settle(end, as: verdict.becoming(.deferred, rule: .contradicted(verdict.rule, .deferred)))
        }
        return end.facts.isMerged ? .sendApart(end) : .sendEachAlone(end)
    }

    private func fail(_ end: End) -> Effect {
        if end.facts.isMerged { return .sendApart(end) }
        return .settle(end, as: end.verdict.becoming(.failed, rule: .contradicted(end.verdict.rule, .failed)))
    }

    /// Parks the operations of a request that was refused with credentials of their own. Operations that were refused
    /// together are first sent again, each alone.
    private mutating func park(_ end: End, _ prints: Fingerprints, at now: Timestamp) -> [Effect] {
        if end.facts.isShared || end.facts.operations.count > 1 { return [.sendEachAlone(end)] }
        var parking = state.parking
        return [conclude(end, &parking, prints, at: now)]
    }

    /// Decides on an answer for which this run has no witness. Parks the operations of a refusal. Holds the destination
    /// for any other answer, and for a refusal that confirms an earlier refusal.
    ///
    /// In strict order no operation behind a refused operation may be its witness, so the destination is held.
    private mutating func conclude(
        _ end: End, _ parking: inout Parking, _ prints: Fingerprints, at now: Timestamp
    ) -> Effect {
        guard end.isRefusal, end.facts.route.value.ordering != .strict, block?.reason != .held else {
            return hold(end, as: end.verdict)
        }
        let refusals = refusals(of: end, prints)
        if refusals.contains(where: { parking.decision(on: $0) == .hold }) { return hold(end, as: end.verdict) }
        for refusal in refusals { parking.park(refusal, at: now) }
        return .park(end, refusals)
    }

    private func refusals(of end: End, _ prints: Fingerprints) -> [Parking.Refusal] {
        let (credentials, blamed) = (end.facts.credentials, prints.blamed())
        let mark = prints.mark(credentials)
        return end.facts.operations.map { operation in
            Parking.Refusal(
                operation: operation, status: end.verdict.status ?? 0, credentials: mark, areOwn: credentials.areOwn,
                blamed: blamed)
        }
    }
}
