import Policy
import Spool

/// The destinations met by a run or by `send`, and the shared ledger of all runs: takes over what others record, and
/// records what this run learns.
final class DestinationBook {
    private let spool: SpoolDirectory
    private let configuration: Configuration
    private var world: World
    private let tally: RunTally
    private let ignoresBackoff: Bool
    private let concurrency: Concurrency
    /// The number of runs at the queue, as far as this run knows.
    private var runs = 1
    private var shared: SharedLedger
    /// The configured destinations; from the first pass on also the ledger's, because some operations' names carry only
    /// the digest of their origin.
    private(set) lazy var table = DestinationTable(configuration)
    private(set) var destinations: [Digest: RunDestination] = [:]
    /// True until the first pass has ended.
    var isFirstPass = true
    private var nextLook: ContinuousClock.Instant?

    init(
        _ spool: SpoolDirectory, _ configuration: Configuration, _ world: World, _ tally: RunTally,
        ignoresBackoff: Bool, concurrency: Concurrency = .atMost(1)
    ) {
        self.spool = spool
        self.configuration = configuration
        self.world = world
        self.tally = tally
        self.ignoresBackoff = ignoresBackoff
        self.concurrency = concurrency
        shared = SharedLedger(spool, world.clock)
    }

    /// Whether to ignore circuit breakers from before the run (`--now`). A circuit breaker that opens in the run
    /// counts.
    private var ignoresCircuitBreaker: Bool { ignoresBackoff && isFirstPass }

    /// Since when this machine has no network, according to the ledger; `nil` if there is a network.
    var offline: DestinationLedger.Offline? { shared.ledger.offline }

    // MARK: - Before a pass

    /// Takes over what other runs and operators have recorded about destinations.
    func read(_ now: Timestamp) throws(SpoolError) {
        tell()
        try shared.read()
        let known = shared.ledger.destinations
        if isFirstPass { table = DestinationTable(configuration, knowing: Array(known.keys)) }
        // Their operations wait for more than their schedules; and the cause of a parking may have changed.
        for (name, state) in known where !state.parking.isEmpty || state.notBefore != nil {
            if destinations[Digest(of: name)] == nil { _ = add(Destination(named: name), now) }
        }
        for destination in destinations.values { refresh(destination, now) }
    }

    /// Records what time alone has changed of destinations in trouble, once a minute: one is down from now on, or no
    /// route and no operation names it any more. Lists the names of operations only for one that no route names.
    func lookAtTroubles(_ now: Timestamp) throws(SpoolError) {
        let instant = world.clock.instant()
        if let nextLook, instant < nextLook { return }
        nextLook = instant + .seconds(60)
        let troubled = shared.ledger.destinations.filter { $0.value.trouble != nil || $0.value.hold?.isByHand == false }
        var named: Set<Digest>?
        for (name, state) in troubled.sorted(by: { $0.key < $1.key }) {
            let identity = Destination(named: name)
            if !table.isNamed(identity.digest) {
                if named == nil { named = try waitingDestinations() }
                if !named!.contains(identity.digest) {
                    apply(.unnamed, to: destination(identity, now), at: now)
                    continue
                }
            }
            if let incident = state.incident, !incident.isDown, state.isDown(at: now) {
                apply(.looked, to: destination(identity, now), at: now)
            }
        }
    }

    /// Returns the destinations of the operations that wait or are in flight.
    private func waitingDestinations() throws(SpoolError) -> Set<Digest> {
        var found: Set<Digest> = []
        for state in QueueState.standing {
            try spool.forEachEntry(in: state) { found.insert(table.destination(of: $0.name).digest) }
        }
        return found
    }

    /// Reports a damaged ledger, once: it may have had a hold.
    func tellDamage() throws(SpoolError) {
        if let error = try shared.moveDamagedAside() { tally.inputOutput(error) }
    }

    /// Takes over what other runs and operators have recorded about a destination, and returns the destination.
    func read(_ identity: Destination, _ now: Timestamp) throws(SpoolError) -> RunDestination {
        tell()
        try shared.read()
        let destination = destination(identity, now)
        refresh(destination, now)
        return destination
    }

    private func refresh(_ destination: RunDestination, _ now: Timestamp) {
        destination.control.ignoresCircuitBreaker = ignoresCircuitBreaker
        destination.control.read(shared.ledger[destination.name], at: now)
        destination.beginPass()
        releaseByChange(destination, now)
    }

    /// Returns what operations wait for by the states of their destinations.
    func waits(_ now: Timestamp) -> [Digest: DestinationWaits] {
        destinations.compactMapValues { $0.state.waits($0.settings, at: now) }
    }

    /// Takes over, within a pass, what operators and other runs have recorded. Records this run's events first, unless
    /// the ledger was just written: with many destinations and runs it would be written all the time.
    func adoptRecords() throws(SpoolError) {
        if world.clock.instant() >= shared.nextWrite { tell() }
        let (recorded, now) = (try shared.peek(), world.now())
        for destination in destinations.values {
            destination.control.adopt(recorded[destination.name], at: now)
        }
    }

    // MARK: - Destinations

    subscript(candidate: Candidate) -> RunDestination { destinations[candidate.destination.digest]! }

    /// Returns this run's record of a destination; makes one if the run has not met the destination.
    func destination(_ identity: Destination, _ now: Timestamp) -> RunDestination {
        destinations[identity.digest] ?? add(identity, now)
    }

    private func add(_ identity: Destination, _ now: Timestamp) -> RunDestination {
        let settings = table.settings(of: identity)
        let limits = DestinationLimits(of: identity, settings, in: spool, world.clock) { [tally] in
            tally.inputOutput($0)
        }
        let state = shared.ledger[identity.name]
        let adaptive = concurrency == .auto ? AdaptiveConcurrency(runs: runs, overload: state.overload, at: now) : nil
        let destination = RunDestination(identity, settings, state, limits: limits, concurrency: adaptive)
        destination.control.ignoresCircuitBreaker = ignoresCircuitBreaker
        destination.control.read(state, at: now)
        destinations[identity.digest] = destination
        releaseByChange(destination, now)
        return destination
    }

    /// Ends a hold, and parking, if the cause has changed: the credential, or the destination's configuration.
    private func releaseByChange(_ destination: RunDestination, _ now: Timestamp) {
        let state = destination.state
        guard let blamed = state.hold == nil ? state.parking.blamed : state.hold?.blamed else { return }
        let wasAnswer = state.hold == nil || state.hold?.status != nil
        let key = shared.key(using: &world.generator)
        // Without the key nothing tells whether the cause has changed.
        if key == SharedLedger.noKey { return }
        if blame.hasChanged(
            since: blamed, wasAnswer: wasAnswer, of: destination.identity, key: key)
        {
            apply(.blameChanged(since: blamed), to: destination, at: now)
        }
    }

    /// Returns what a hold of this destination is blamed on.
    private func fingerprint(of destination: Destination, sent: SecretValues) -> String {
        blame.fingerprint(of: destination, key: shared.key(using: &world.generator), sent: sent)
    }

    /// Returns the texts by which a destination's control writes down what it blames.
    /// `sent` are the secrets of the attempt that it decides on.
    func fingerprints(of destination: Destination, sent: SecretValues) -> Fingerprints {
        Fingerprints(blamed: { self.fingerprint(of: destination, sent: sent) }, mark: mark)
    }

    /// Returns the text that stands for credentials in the ledger.
    func mark(_ credentials: RequestCredentials) -> String {
        credentials.mark(key: shared.key(using: &world.generator))
    }

    private var blame: Blame {
        Blame(configuration: configuration, destinations: table, credentials: world.credentials)
    }

    /// Divides the concurrency that servers sustain among `runs` runs.
    func share(with runs: Int) {
        guard concurrency == .auto, runs != self.runs else { return }
        self.runs = runs
        let now = world.now()
        for destination in destinations.values { destination.control.share(with: runs, at: now) }
    }

    /// Takes a destination's name from an operation that was read, with what is recorded under this name. Returns false
    /// if this stops operations with this number of attempts. A run knows a destination by its digest alone if only
    /// operations have its url, and the ledger had no record of it at first.
    func takeName(
        of operation: Operation, attempts: Int, for destination: RunDestination, at now: Timestamp
    ) -> Bool {
        guard destination.control.takeName(of: operation) else { return true }
        destination.control.read(shared.ledger[destination.name], at: now)
        return destination.control.admits(attempts: attempts)
    }

    /// Returns the maker of requests of a type to a destination.
    func maker(of type: TypeName, to destination: RunDestination) -> RequestMaker {
        if let last = destination.lastMaker, last.type == type { return last.maker }
        let maker =
            destination.makers[type]
            ?? RequestMaker(configuration.route(of: type), destination.settings, configuration.secrets, world)
        destination.makers[type] = maker
        destination.lastMaker = (type, maker)
        return maker
    }

    /// The number of destinations that this run sends nothing to now.
    var blockedCount: Int { destinations.values.count { $0.isBlocked } }

    /// Lets this run send again to the destinations left for a pass.
    func resumeLeft() {
        for destination in destinations.values { destination.control.isLeftForNow = false }
    }

    // MARK: - What is learned

    /// Writes new events to the ledger. If that fails, they count for this run and are written later: reports only the
    /// first error, and goes on.
    func tell() {
        var events: [(destination: String, event: DestinationEvent)] = []
        for destination in destinations.values {
            events += destination.control.takeEvents().map { (destination.name, $0) }
        }
        if events.isEmpty, !shared.hasUnwritten { return }
        let settings = Dictionary(
            destinations.values.map { ($0.name, $0.settings) }, uniquingKeysWith: { first, _ in first })
        let error = shared.record(events, settings: { settings[$0] ?? DestinationSettings() }) { [tally] in
            tally.tell(.changed($0))
        }
        if let error { tally.inputOutput(error) }
    }

    /// Whether the ledger has all that this run has learned.
    var hasToldAll: Bool { shared.hasRecordedAll }

    /// Takes over the ends of attempts that dead runs have made, as this run's own, and writes them to the ledger.
    func take(_ ends: [(destination: Destination, event: DestinationEvent)]) throws(SpoolError) {
        if ends.isEmpty { return }
        let now = world.now()
        try read(now)
        for (identity, event) in ends { apply(event, to: destination(identity, now), at: now) }
        tell()
    }

    /// Whether the ledger must be told now that a destination is blocked. If it was just written, this can wait.
    func mustTell(_ destination: RunDestination) -> Bool {
        destination.isBlocked && destination.control.hasNews && world.clock.instant() >= shared.nextWrite
    }

    func apply(_ event: DestinationEvent, to destination: RunDestination, at now: Timestamp) {
        destination.control.apply(event, at: now)
    }

    /// Records the beginning of a probe of a held destination, before the probe is sent, so that no other process sends
    /// one. Returns false, and blocks the destination, if none is due: another process has just begun one. Without a
    /// writable ledger the probe begins all the same.
    func beginProbe(of destination: RunDestination, at now: Timestamp) -> Bool {
        tell()
        do throws(SpoolError) {
            guard
                try shared.beginProbe(
                    of: destination.name, destination.settings, ignoringCircuitBreaker: ignoresCircuitBreaker)
            else {
                destination.control.beginProbe(isTaken: true, at: now)
                return false
            }
        } catch {
            tally.inputOutput(error)
        }
        destination.control.beginProbe(isTaken: false, at: now)
        return true
    }

    /// Holds a destination for an attempt that began at that time. `sent` are its secrets.
    func hold(
        _ destination: RunDestination, _ record: AttemptRecord?, reason: Rule, sent: SecretValues = .none,
        began: Timestamp
    ) {
        let event = DestinationEvent.held(
            reason: reason.reason(excerpt: record?.excerpt), status: record?.status,
            blamed: fingerprint(of: destination.identity, sent: sent),
            cause: record.map(Cause.init) ?? Cause(words: "\(reason)", code: reason.code), began: began)
        destination.control.apply(event, at: world.now())
    }

    /// Ends the wait of an operation for a witness.
    func unpark(_ operation: Age, _ destination: RunDestination) {
        if destination.control.isParked(operation) { apply(.unparked(operation), to: destination, at: world.now()) }
    }

    /// Records since when this machine has no network; `nil` if there is a network.
    func remember(offline: DestinationLedger.Offline?) {
        do throws(SpoolError) {
            try shared.record(offline: offline)
        } catch {
            tally.inputOutput(error)
        }
    }

    // MARK: - After a pass

    /// The number of operations that the listing of a pass has passed over and that may be sent now: a delivery of the
    /// pass has closed the circuit breaker of their destination, or was the witness of a parked operation.
    func passedOverAndDue(in pass: Pass) -> Int {
        let skipped = destinations.values.reduce(0) { $0 + ($1.isBlocked ? 0 : $1.skipped) }
        return skipped
            + pass.parked.count { parked in
                guard let destination = destinations[parked.destination], !destination.isBlocked else { return false }
                return destination.state.parking[parked.operation]?.isWitnessed ?? false
            }
    }

    /// Counts the due operations left by a pass, because their destination is blocked or because the run ends. `begun`
    /// of the chosen operations were claimed.
    func countLeft(of pass: Pass, begun: Int) {
        var (held, waiting, paused) = (pass.heldBehindFailed, 0, 0)
        var leftDue = pass.leftDue + pass.leftExpired + passedOverAndDue(in: pass)
        if tally.hasEnded { leftDue += pass.chosen.count - begun }
        for destination in destinations.values where destination.isBlocked {
            let blameless = destination.skipped + max(0, destination.offered - destination.done)
            switch destination.block?.reason {
            case .held: held += blameless
            case .retryAfter, .circuitBreaker, nil: waiting += blameless
            case .paused: paused += blameless
            }
            leftDue -= max(0, destination.offered - destination.chosen)
        }
        (tally.summary.held, tally.summary.waiting, tally.summary.paused) = (held, waiting, paused)
        tally.summary.leftDue = max(0, leftDue)
    }
}
