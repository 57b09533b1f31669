import Policy

/// A refusal of credentials.
struct Refused {
    let credentials: String
    /// When its attempt began, and when its answer came.
    let began: Timestamp
    let answered: Timestamp

    /// Whether a delivery by this attempt shows that they are taken all the same. If it began before the refusal came they
    /// may have been revoked in between, unless one answer said both.
    func isContradicted(by attempt: Attempt) -> Bool {
        attempt.began >= answered || attempt.isShared && attempt.began == began
    }
}

/// One destination within a run: its state, and the attempts that it may get now.
final class RunDestination {
    /// Its name and digest.
    var identity: Destination
    /// The attempts that it may get, by its state.
    private(set) var access: DestinationAccess
    let limits: DestinationLimits
    /// The configuration's conditions are not met for it.
    var lacksConditions = false
    /// This machine may have no network: one attempt has to show it.
    var isCautious = false
    /// An attempt of this run has come back from it.
    var hasBeenHeard = false
    /// The samples have said nothing: this run sends nothing more to it.
    var isLeft = false
    /// Other processes have all of its concurrency: nothing more is sent to it before the run has waited for
    /// its next pass.
    var isLeftToOthers = false
    /// The storm guard over this run's permanent answers.
    var storm: StormGuard<AttemptAnswer>
    /// The storm guard over answers that would hold the destination; `nil` while there are none.
    var holdGuard: StormGuard<AttemptAnswer>?
    /// The first refusal of credentials among the answers of `holdGuard`; `nil` where they refuse something else.
    var refused: Refused?
    /// Work that goes before the dispatch order, one at a time: samples, and the halves of a batch that was refused.
    var urgent: [Work] = []
    /// The newest operations that are due and not chosen, for samples.
    var newest: [Candidate] = []
    /// The operations that are due in this pass's listing: those passed over because the destination was closed already,
    /// those offered to be chosen, and those chosen.
    var skipped = 0
    var offered = 0
    var chosen = 0
    /// The number of offered operations that are no longer due.
    var done = 0
    var inFlight = 0
    /// The number of its line in the dispatch order of a pass that it takes part in.
    var line = 0
    /// The time when it last refused secrets that had just been looked up again.
    var refusedFreshSecrets: ContinuousClock.Instant?
    /// Its request makers by operation type.
    var makers: [TypeName: RequestMaker] = [:]

    /// `limits` are those of this process alone where none are given.
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

    /// Forgets the counts of the listing before.
    func beginPass() {
        (skipped, offered, chosen, done) = (0, 0, 0, 0)
        newest = []
    }

    /// Names it by an operation that has been read: an entry's name carries only the digest of its own origin.
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

    /// The events that the ledger has not been told yet.
    var events: [DestinationEvent] {
        get { access.events }
        set { access.events = newValue }
    }

    /// Why nothing more is sent to it in this pass.
    var block: Availability.Block? {
        get { access.block }
        set { access.block = newValue }
    }

    var isProbing: Bool { access.isProbing }

    /// Opens or closes it by what is known at `now`.
    func open(at now: Timestamp, ignoringCoolDown: Bool) {
        access.open(at: now, ignoringCoolDown: ignoringCoolDown)
    }

    /// Takes over what an operator has said of it since, and what other runs have learned, see `DestinationAccess`. Answers
    /// that wait for others are judged by what this run alone meets; so is a destination of which the ledger does not know
    /// yet what this run knows.
    func hear(_ told: DestinationState, at now: Timestamp) {
        access.hear(told)
        if !needsAttention, events.isEmpty { access.learn(told, at: now) }
    }

    /// Notes that an attempt begins, which counts as in flight already.
    func noteBeginning() -> AdaptiveConcurrency.Start? { access.begin(inFlight: inFlight) }

    /// Takes in what the end of an attempt, by its events, says of how many the server bears at once.
    func adapt(to events: [DestinationEvent], of attempt: Attempt, after duration: Duration, at now: Timestamp) {
        if let start = attempt.start { access.adapt(to: events, of: start, after: duration, at: now) }
    }

    /// Divides what the server bears among so many runs.
    func share(with runs: Int, at now: Timestamp) { access.share(with: runs, at: now) }

    /// Takes an event in, for this run at once and for the ledger later.
    func note(_ event: DestinationEvent, at now: Timestamp, ignoringCoolDown: Bool) {
        access.note(event, at: now, ignoringCoolDown: ignoringCoolDown)
    }

    /// Whether it has work that goes first, or answers that wait for others.
    var needsAttention: Bool { !urgent.isEmpty || !withheld.isEmpty }

    var isSampling: Bool { storm.phase == .sampling || holdGuard?.phase == .sampling }

    /// The most attempts of the dispatch order that may be in flight.
    var concurrencyLimit: Int {
        isClosed || isSampling || !urgent.isEmpty ? 0 : min(access.allowance, isCautious ? 1 : .max)
    }

    var isClosed: Bool { block != nil || lacksConditions || isLeft || isLeftToOthers }

    /// Whether nothing waits or is in flight that could still say what the withheld answers mean.
    var isQuiet: Bool { inFlight == 0 && urgent.isEmpty }

    /// The answers that the storm guard keeps until others have been asked.
    var withheld: [AttemptAnswer] { storm.withheld + (holdGuard?.withheld ?? []) }

    /// Discards the remaining work of this pass. The answers that wait for others have no effect.
    func forgetWork() {
        urgent = []
        holdGuard = nil
        _ = storm.abandon()
    }

    /// Removes the guard over holding answers once every answer it withheld is settled.
    func removeSettledHoldGuard() {
        if holdGuard?.withheld.isEmpty ?? false { holdGuard = nil }
    }

    /// Whether it is on this machine, which needs no network.
    var isLocal: Bool { identity.isLocal(settings) }
}
