import Policy

/// One destination of a run, or of `send`: its state, the attempts that it may get now, and the work that waits for it.
final class RunDestination {
    /// Its name and digest.
    var identity: Destination
    /// The attempts that its state allows.
    private(set) var access: DestinationAccess
    let limits: DestinationLimits
    /// Whether conditions of this machine are not met for it: the configuration's, or a network.
    var lacksConditions = false
    /// Whether this machine may have no network. One attempt has to show it first.
    var isCautious = false
    /// Whether an attempt of this run to it has ended with a report that is not `isSuspect`.
    var hasReported = false
    /// Whether this run sends nothing to it before it has waited for its next pass: other processes have all of its
    /// concurrency, or it costs the run time while its circuit breaker is open.
    var isLeftForNow = false
    /// The storm guard over this run's permanent answers.
    var storm: StormGuard<AttemptAnswer>
    /// The storm guard over answers that would hold the destination; `nil` while there are none.
    var holdGuard: StormGuard<AttemptAnswer>?
    /// The first refusal of credentials that `holdGuard` withholds; `nil` if its answers refuse something else.
    var refused: Refused?
    /// Work that goes before the dispatch order, one at a time: samples, and operations that are sent in a request of
    /// their own, or resent.
    var urgent: [Work] = []
    /// The newest operations that are due and not chosen, for samples.
    var newest: [Candidate] = []
    /// Counts of the due operations in this pass's listing: skipped because the destination was blocked already,
    /// offered for selection, and chosen.
    var skipped = 0
    var offered = 0
    var chosen = 0
    /// The number of offered operations that are no longer due.
    var done = 0
    var inFlight = 0
    /// Its index in `SendQueue.destinations`; stale before the pass appends it.
    var queueIndex = 0
    /// The time when it last refused secrets that had just been looked up again.
    var refusedFreshSecrets: ContinuousClock.Instant?
    /// Its request makers by operation type.
    var makers: [TypeName: RequestMaker] = [:]

    /// `limits` are by default those of this process alone.
    init(
        _ identity: Destination, _ settings: DestinationSettings, _ state: DestinationState,
        limits: DestinationLimits? = nil, concurrency: AdaptiveConcurrency? = nil
    ) {
        self.identity = identity
        access = DestinationAccess(settings, state, concurrency: concurrency)
        self.limits = limits ?? DestinationLimits(settings)
        storm = StormGuard(threshold: settings.stormGuard)
    }

    var name: String { identity.name }

    var digest: Digest { identity.digest }

    /// Resets the counts of the previous listing.
    func beginPass() {
        (skipped, offered, chosen, done) = (0, 0, 0, 0)
        newest = []
    }

    /// Takes its name from an operation that was read: an entry's name has only the digest of the origin.
    func takeName(of operation: Operation) {
        guard let name = operation.header.url.flatMap({ Origin(url: $0)?.description }), name != self.name,
            Digest(of: name) == digest
        else { return }
        identity.name = name
    }

    var settings: DestinationSettings { access.settings }

    /// The ledger's state, with what this run has learned since.
    var state: DestinationState {
        get { access.state }
        set { access.state = newValue }
    }

    /// The events that are not in the ledger yet.
    var events: [DestinationEvent] {
        get { access.events }
        set { access.events = newValue }
    }

    /// The reason to send nothing more to it in this pass; `nil` if there is none.
    var block: Availability.Block? {
        get { access.block }
        set { access.block = newValue }
    }

    var isProbing: Bool { access.isProbing }

    /// Blocks it, or ends its block, by its state at `now`.
    func update(at now: Timestamp, ignoringCircuitBreaker: Bool) {
        access.update(at: now, ignoringCircuitBreaker: ignoringCircuitBreaker)
    }

    /// Takes over what operators and other runs have recorded, see `DestinationAccess`. While answers are withheld, or
    /// events of this run are not in the ledger yet, takes over only what operators have recorded.
    func adopt(_ told: DestinationState, at now: Timestamp) {
        access.adoptOperatorStop(told)
        if !needsAttention, events.isEmpty { access.adoptOtherRuns(told, at: now) }
    }

    /// Notes that an attempt begins, already counted in flight. Returns `nil` if the concurrency does not adapt.
    func noteBeginning() -> AdaptiveConcurrency.Start? { access.begin(inFlight: inFlight) }

    /// Adapts the concurrency to the events and the duration of an attempt that has ended.
    func adapt(to events: [DestinationEvent], of attempt: Attempt, after duration: Duration, at now: Timestamp) {
        if let start = attempt.start { access.adapt(to: events, of: start, after: duration, at: now) }
    }

    /// Divides the concurrency that the server sustains among `runs` runs.
    func share(with runs: Int, at now: Timestamp) { access.share(with: runs, at: now) }

    /// Applies an event, for this run at once and for the ledger later.
    func apply(_ event: DestinationEvent, at now: Timestamp, ignoringCircuitBreaker: Bool) {
        access.apply(event, at: now, ignoringCircuitBreaker: ignoringCircuitBreaker)
    }

    /// Whether it has urgent work or withheld answers.
    var needsAttention: Bool { !urgent.isEmpty || !withheld.isEmpty }

    var isSampling: Bool { storm.phase == .sampling || holdGuard?.phase == .sampling }

    /// The most attempts of the dispatch order that may be in flight.
    var concurrencyLimit: Int {
        !admits(attempts: 1) || isSampling || !urgent.isEmpty
            ? 0 : min(access.concurrencyLimit, isCautious ? 1 : .max)
    }

    /// Whether an operation that has had this number of attempts may get one now.
    func admits(attempts: Int) -> Bool {
        !lacksConditions && !isLeftForNow && !(block?.stops(attempts: attempts) ?? false)
    }

    /// Whether it gets no attempts now, except for operations that keep their schedule.
    var isBlocked: Bool { !admits(attempts: 0) }

    /// Whether no work is urgent or in flight that could still decide the withheld answers.
    var isQuiet: Bool { inFlight == 0 && urgent.isEmpty }

    /// The answers that the storm guards withhold until others have been asked.
    var withheld: [AttemptAnswer] { storm.withheld + (holdGuard?.withheld ?? []) }

    /// Discards the remaining work of this pass. The answers withheld until then have no effect.
    func forgetWork() {
        urgent = []
        holdGuard = nil
        _ = storm.takeWithheld()
    }

    /// Removes the guard over holding answers if it withholds none any more.
    func removeEmptyHoldGuard() {
        if holdGuard?.withheld.isEmpty ?? false { holdGuard = nil }
    }

    /// Whether it is on this machine, which needs no network.
    var isLocal: Bool { identity.isLocal(settings) }
}
