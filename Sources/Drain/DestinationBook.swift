import Policy
import Spool

/// What a run knows of destinations: a lane for each that something is due for, and the ledger that all runs share.
final class DestinationBook {
    private let spool: SpoolDirectory
    private let configuration: Configuration
    private var world: World
    private let tally: RunTally
    private let ignoresBackoff: Bool
    /// From the first pass on with the names that the ledger knows, for operations whose names carry only the digest of
    /// their own origin.
    private(set) lazy var table = DestinationTable(configuration)
    private(set) var lanes: [Digest: Lane] = [:]
    /// The destinations with a rate.
    private(set) var paced: Set<Digest> = []
    private(set) var ledger = DestinationLedger()
    /// When writing the ledger has taken no more than a twentieth of the time: it grows with the destinations.
    private(set) var pauseEnd = ContinuousClock.now
    /// Whether the ledger could not be written.
    private var isLost = false
    /// Set until the first pass has been made.
    var isFirstPass = true

    init(
        _ spool: SpoolDirectory, _ configuration: Configuration, _ world: World, _ tally: RunTally,
        ignoresBackoff: Bool
    ) {
        self.spool = spool
        self.configuration = configuration
        self.world = world
        self.tally = tally
        self.ignoresBackoff = ignoresBackoff
    }

    /// A cool-down that was there before the run is ignored with `--now`, one that begins in it is not.
    private var ignoresCoolDown: Bool { ignoresBackoff && isFirstPass }

    // MARK: - Before a pass

    /// Takes over what other runs and people have said of destinations since.
    func read(_ now: Timestamp) throws(SpoolError) {
        tell()
        ledger = try LedgerFile(spool: spool).read()
        if isFirstPass {
            table = DestinationTable(configuration, knowing: Array(ledger.destinations.keys))
        }
        // What was blamed when they were parked may have changed.
        for (name, state) in ledger.destinations where !state.parking.isEmpty && lanes[Digest(of: name)] == nil {
            _ = makeLane(Destination(named: name), now)
        }
        for lane in lanes.values {
            lane.state = ledger[lane.destination.name]
            lane.open(at: now, ignoringCoolDown: ignoresCoolDown)
            lane.beginPass()
            releaseByChange(lane, now)
        }
    }

    func parked(_ now: Timestamp) -> [Digest: [OperationID: Timestamp]] {
        lanes.compactMapValues { lane in
            lane.state.parking.isEmpty ? nil : lane.state.parking.waits(lane.settings, at: now)
        }
    }

    /// Takes over what a person has said of destinations since.
    func hear() throws(SpoolError) {
        let heard = try LedgerFile(spool: spool).read()
        for lane in lanes.values { lane.hear(heard[lane.destination.name]) }
    }

    // MARK: - Lanes

    /// Returns the lane of a destination, a new one where this run has not met it.
    func lane(to destination: Destination, _ now: Timestamp) -> Lane {
        lanes[destination.digest] ?? makeLane(destination, now)
    }

    private func makeLane(_ destination: Destination, _ now: Timestamp) -> Lane {
        let lane = Lane(destination, table.settings(of: destination), ledger[destination.name])
        lane.open(at: now, ignoringCoolDown: ignoresCoolDown)
        lanes[destination.digest] = lane
        if lane.pace.interval > .zero { paced.insert(destination.digest) }
        releaseByChange(lane, now)
        return lane
    }

    /// A hold ends when what it was blamed on has changed: the credential, or the configuration of the destination.
    private func releaseByChange(_ lane: Lane, _ now: Timestamp) {
        let state = lane.state
        if state.hold == nil && state.parking.isEmpty { return }
        let blamed = state.hold == nil ? state.parking.blamed : state.hold?.blamed
        let wasAnswer = state.hold == nil || state.hold?.status != nil
        if blame.hasChanged(
            since: blamed, wasAnswer: wasAnswer, of: lane.destination, salt: ledger.salt(using: &world.generator))
        {
            note(.blameChanged, in: lane, at: now)
        }
    }

    /// What a hold of this destination is blamed on.
    func fingerprint(of destination: Destination) -> String {
        blame.fingerprint(of: destination, salt: ledger.salt(using: &world.generator))
    }

    private var blame: Blame {
        Blame(configuration: configuration, destinations: table, credentials: world.credentials)
    }

    /// Tells the ledger what has been learned since. Losing it costs a probe, so an error is told, once, and nothing more.
    func tell() {
        var events: [(destination: String, event: DestinationEvent)] = []
        for lane in lanes.values {
            events += lane.events.map { (lane.destination.name, $0) }
            lane.events = []
        }
        if events.isEmpty { return }
        let start = ContinuousClock.now
        defer { pauseEnd = .now + start.duration(to: .now) * 20 }
        do throws(SpoolError) {
            let named = Dictionary(
                lanes.values.map { ($0.destination.name, $0.settings) }, uniquingKeysWith: { first, _ in first })
            ledger = try LedgerFile(spool: spool).record(
                events, settings: { named[$0] ?? DestinationSettings() }, salt: ledger.salt, at: world.now(),
                durable: false)
        } catch {
            if !isLost { tally.inputOutput(error) }
            isLost = true
        }
    }

    // MARK: - What is learned

    /// Tells a lane what has happened, and everybody if that ended its hold.
    func note(_ event: DestinationEvent, in lane: Lane, at now: Timestamp) {
        let wasHeld = lane.state.hold != nil
        lane.note(event, at: now, ignoringCoolDown: ignoresCoolDown)
        if wasHeld, lane.state.hold == nil { tally.tell(.holdEnded(destination: lane.destination.name)) }
    }

    /// Notes that a probe of a held destination begins, before it is sent: no other run does the same.
    func beginProbe(_ lane: Lane, at now: Timestamp) {
        lane.note(.probed, at: now, ignoringCoolDown: ignoresCoolDown)
        tell()
    }

    /// Holds a destination from now on.
    func hold(_ lane: Lane, _ record: AttemptRecord?, reason: Rule) {
        let now = world.now()
        let isNew = lane.state.hold == nil
        let event = DestinationEvent.held(
            reason: reason.reason(excerpt: record?.status == nil ? record?.excerpt : nil), status: record?.status,
            blamed: fingerprint(of: lane.destination))
        lane.note(event, at: now, ignoringCoolDown: ignoresCoolDown)
        if isNew, let record {
            let isStorm = if case .storm = reason { true } else { false }
            tally.tell(.destinationHeld(destination: lane.destination.name, record: record, byStormGuard: isStorm))
        }
    }

    /// Ends the wait of an operation for a witness.
    func unpark(_ id: OperationID, _ lane: Lane) {
        if lane.state.parking[id] != nil { note(.unparked(id), in: lane, at: world.now()) }
    }

    /// Remembers since when this machine has no network; `nil` where it has one again.
    func remember(offline: DestinationLedger.Offline?) {
        do throws(SpoolError) {
            try LedgerFile(spool: spool).record(offline: offline)
            ledger.offline = offline
        } catch {
            tally.inputOutput(error)
        }
    }
}
