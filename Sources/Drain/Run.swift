package import Delivery
package import Policy
package import Spool

/// One run over a queue: choose, claim, attempt, settle, count, stop. The only place of order and concurrency.
///
/// A run is one thread: between two reports of the sink it settles and claims, so the directory is only ever touched
/// from here. What was claimed when the process dies is returned by the next run (SpoolDirectory, table of states).
package final class Run {
    /// What a run needs of the world, so that a test can give it another.
    package struct World {
        package var now: () -> Timestamp
        package var generator: any RandomNumberGenerator
        /// Called when something is due, and not before.
        package var makeSink: (_ concurrency: Int) -> any Sink
        /// What requests say in User-Agent, `drainq/VERSION`.
        package var version: String
        package var credentials: Credentials
        /// Called only where the configuration has conditions.
        package var surroundings: (Conditions) -> Surroundings
        /// Called only when an attempt has met a network error, or a run before has found no network.
        package var networkWays: () -> NetworkWays
        /// What there is to make attempts by. Of libcurl it is the sink that knows.
        package var transports: [Transport]

        package init(
            version: String, now: @escaping () -> Timestamp, generator: any RandomNumberGenerator,
            credentials: Credentials = .none,
            surroundings: @escaping (Conditions) -> Surroundings = { _ in Surroundings() },
            networkWays: @escaping () -> NetworkWays = { NetworkWays() },
            transports: [Transport] = Transport.allCases,
            makeSink: @escaping (_ concurrency: Int) -> any Sink
        ) {
            self.version = version
            self.now = now
            self.generator = generator
            self.credentials = credentials
            self.surroundings = surroundings
            self.networkWays = networkWays
            self.transports = transports
            self.makeSink = makeSink
        }
    }

    let spool: SpoolDirectory
    let configuration: Configuration
    let options: RunOptions
    /// From the first pass on with the names that the ledger knows, for operations whose names carry only the digest of
    /// their own origin.
    lazy var destinations = DestinationTable(configuration)
    let report: (RunEvent) -> Void
    var world: World
    var summary: RunSummary
    var sink: (any Sink)?
    /// What is known of each destination that something is due for, from here to the end of the run.
    var lanes: [Digest: Lane] = [:]
    /// Those of them that have something to do out of turn, and those with a rate: there may be thousands of others.
    var unusual: Set<Digest> = []
    var paced: Set<Digest> = []
    var ledger = DestinationLedger()
    /// Until then writing it has taken a twentieth of the time already: it grows with the destinations.
    var ledgerPause = ContinuousClock.now
    /// Whether it could not be written.
    var isLedgerLost = false
    private var isFullDiskTold = false
    /// Whether this run has the sequence lock.
    var hasOrder = false
    /// Whether the user has been told that the names lock could not be had.
    var isNamesLockTold = false
    /// A cool-down that was there before the run is ignored with `--now`, one that begins in it is not.
    var ignoresCoolDown: Bool { options.ignoresBackoff && isFirstPass }
    var isFirstPass = true
    var lastListened = ContinuousClock.now
    /// What the conditions and the network let go at the moment.
    var gate = Gate()
    /// Nothing is claimed: only asked what would be.
    var isPlanning = false
    var pace: Pace
    var flushPace = FlushPace(now: .now)
    var newestValues = NewestValues()
    /// The older operations that each operation of this pass is merged with, oldest first.
    var mergedInto: [OperationID: [Entry]] = [:]
    /// Groups whose operations cannot be merged, or whose merged document was refused: sent one after the other.
    var apart: Set<SequenceKey> = []
    /// An operation has been put back so that older ones go before it: the queue is listed again.
    var hasToListAgain = false
    /// So many are chosen at once at most, whatever the limit, so that memory does not depend on how much is queued.
    var portion = 20_000
    /// Operations that this run deferred and has not seen through since.
    var waiting: Set<OperationID> = []
    /// The queue's lock on this run has been lost: others may be at what it had claimed.
    var hasLostHold = false
    /// Operations this run could not read or settle: set aside until the next one.
    var setAside: Set<OperationID> = []
    let started = ContinuousClock.now
    /// So many times `SpoolRun.admissionSize` files of others are taken in before a pass.
    private static let admissions = 10

    package init(
        spool: SpoolDirectory, configuration: Configuration, options: RunOptions, world: World,
        report: @escaping (RunEvent) -> Void
    ) {
        self.spool = spool
        self.configuration = configuration
        self.options = options
        self.world = world
        self.pace = Pace(interval: options.rate?.interval)
        self.report = report
        self.summary = RunSummary(startedAt: world.now())
    }

    /// Runs, and returns what it came to. Throws only where nothing was attempted: the queue cannot be read or claimed in.
    package func callAsFunction() throws(SpoolError) -> RunSummary {
        defer { sink?.close() }
        if try spool.isPaused {
            summary.end = .paused
            return summary
        }
        let claims = try spool.beginRun(now: world.now())
        count(asksForSequences ? try claims.takeOrder(now: world.now()) : try claims.recover(now: world.now()))
        hasOrder = claims.hasOrder
        if options.failsIfBusy, try claims.hasCompany {
            summary.end = .busy
            try claims.end()
            return summary
        }
        var pass = try nextPass(claims, budget: options.limit)
        while true {
            try makePass(&pass, claims)
            isFirstPass = false
            if summary.end != .done || !waits(after: pass) { break }
            do throws(SpoolError) {
                pass = try nextPass(claims, budget: options.limit)
            } catch {
                broken(error)
                break
            }
        }
        tellLedger()
        prune()
        do throws(SpoolError) {
            try claims.end()
        } catch {
            broken(error)
        }
        summary.deferred = waiting.count
        summary.timeSpent.end()
        summary.duration = .now - started
        return summary
    }

    /// Whether any type that is asked for has an order: else the right to it is left to others.
    private var asksForSequences: Bool {
        options.types.isEmpty
            ? configuration.hasSequentialRoutes : options.types.contains { configuration.route(of: $0).isSequential }
    }

    /// What a run would attempt, in its order, without claiming or sending anything.
    package func plan() throws(SpoolError) -> [(entry: Entry, destination: String)] {
        isPlanning = true
        return try choose(budget: options.limit).chosen.map { ($0.entry, $0.destination.name) }
    }

    // MARK: - Passes

    /// Attempts what was chosen, and then more of what is due, up to the limit. Where a destination closed meanwhile, others
    /// have what it leaves.
    private func makePass(_ pass: inout Pass, _ claims: SpoolRun) throws(SpoolError) {
        var budget = options.limit
        while true {
            let due = pass.chosen.count + pass.leftDue
            if !pass.chosen.isEmpty { report(.chosen(min(budget, due), leftDue: max(0, due - budget))) }
            let begun = attempt(pass.chosen, claims)
            budget -= begun
            summary.nextDue = pass.nextDue
            countLeft(pass, begun)
            let isOver = !hasToListAgain && (begun == 0 || pass.leftDue == 0)
            hasToListAgain = false
            if summary.end != .done || budget <= 0 || isOver { return }
            do throws(SpoolError) {
                pass = try choose(budget: budget)
                supersede(&pass, claims)
                expire(&pass, claims)
            } catch {
                return broken(error)
            }
        }
    }

    private func nextPass(_ claims: SpoolRun, budget: Int) throws(SpoolError) -> Pass {
        var pass = try choose(budget: budget)
        summary.leftForeign = false
        if pass.foreign > 0 {
            try admit(claims)
            pass = try choose(budget: budget)
        }
        if !pass.isEmpty { try claims.anchor() }
        supersede(&pass, claims)
        expire(&pass, claims)
        return pass
    }

    /// Takes in what others have dropped, and no more of it than leaves the pass time to deliver; the rest waits.
    private func admit(_ claims: SpoolRun) throws(SpoolError) {
        for _ in 0..<Self.admissions where Interruption.received.count == 0 {
            var admittance = Admittance(configuration)
            let admission = try claims.admitForeign(now: world.now(), within: &admittance)
            summary.superseded += admission.superseded.count
            for entry in admission.dropped { report(.dropped(entry.name)) }
            for item in admission.quarantined { quarantined(item) }
            for error in admission.errors { inputOutput(error) }
            summary.leftForeign = admission.hasMore && admission.errors.isEmpty
            if !summary.leftForeign { return }
        }
    }

    /// Row N, D → gone, durable before the newer operation is sent: no older value comes back behind it. Where one cannot
    /// be taken away another process has it, and its whole sequence waits: one that was added meanwhile may have been chosen
    /// beside the newer one.
    ///
    /// All older values of what was chosen go, and of other keys no more than the limit. A signal or the end of the time
    /// ends it between two of them; what the rest stands before waits.
    private func supersede(_ pass: inout Pass, _ claims: SpoolRun) {
        takeMerged(of: &pass)
        if pass.superseded.isEmpty { return }
        let chosen = Set(pass.chosen.map(\.entry.name.id))
        let first = pass.superseded.filter { chosen.contains($0.newer) }
        let others = pass.superseded.lazy.filter { !chosen.contains($0.newer) }.prefix(options.limit)
        var waiting: Set<SequenceKey> = []
        // A newer value whose older ones stay is no sample: they would be sent behind it.
        for older in pass.superseded.lazy.filter({ !chosen.contains($0.newer) }).dropFirst(options.limit) {
            waiting.insert(older.sequence)
        }
        var hasToStop = false
        do throws(SpoolError) {
            for older in first + others {
                hasToStop = hasToStop || mustStop()
                guard !hasToStop, let claim = try claims.claim(older.entry) else {
                    waiting.insert(older.sequence)
                    continue
                }
                _ = try claims.settle(claim, .superseded, record: nil, now: world.now())
                summary.superseded += 1
                let name = older.entry.name
                let destination = destinations.destination(of: name).name
                report(.superseded(name, by: older.newer, destination: destination))
            }
            try makeDurable(claims)
        } catch {
            broken(error)
        }
        let isWaiting: (Candidate) -> Bool = { $0.sequence.map(waiting.contains) ?? false }
        pass.chosen.removeAll(where: isWaiting)
        if !waiting.isEmpty { for lane in lanes.values { lane.newest.removeAll(where: isWaiting) } }
    }

    /// Row N, D → X: what has expired while its destination was closed is not kept from it. A signal or the end of the
    /// time ends it between two operations; the rest stays where it is.
    private func expire(_ pass: inout Pass, _ claims: SpoolRun) {
        for (done, candidate) in pass.expired.enumerated() {
            if mustStop() {
                pass.leftExpired += pass.expired.count - done
                return
            }
            do throws(SpoolError) {
                guard let claim = try claims.claim(candidate.entry) else { continue }
                let lane = lane(of: candidate)
                let maker = maker(of: claim.name.type, to: lane)
                guard case .operation(let stored) = try claims.read(claim, limits: configuration.limits),
                    let settlement = Settlement.decide(
                        onExpiryOf: stored.operation, route: maker.route, now: world.now())
                else {
                    _ = try claims.settle(claim, .putBack, record: nil, now: world.now())
                    continue
                }
                let flight = Flight(members: [], lane: lane, maker: maker, began: world.now())
                try apply(
                    settlement, Member(claim: claim, operation: stored.operation), flight, claims, sent: false)
            } catch {
                setAside.insert(candidate.entry.name.id)
                inputOutput(error)
            }
        }
    }

    /// Counts what is still due, as the last listing has it: because of its destination, or because the run ends here.
    private func countLeft(_ pass: Pass, _ begun: Int) {
        summary.held = pass.heldBehindFailed
        summary.waiting = 0
        summary.paused = 0
        summary.leftDue = pass.leftDue + pass.leftExpired + (summary.end == .done ? 0 : pass.chosen.count - begun)
        for lane in lanes.values where lane.isClosed {
            let blameless = lane.skipped + max(0, lane.offered - lane.done)
            switch lane.block?.reason {
            case .held: summary.held += blameless
            case .retryAfter, .circuitBreaker, nil: summary.waiting += blameless
            case .paused: summary.paused += blameless
            }
            summary.leftDue -= max(0, lane.offered - lane.chosen)
        }
        summary.leftDue = max(0, summary.leftDue)
    }

    /// Waits for the next pass where the options ask for one; false where the run is over.
    ///
    /// The time of `--wait` ends with a look: what was added within it is attempted, in its last moment and during a long
    /// pass too. Whoever starts a run for what is added (the path unit) sees nothing of that while the run goes on.
    private func waits(after pass: Pass) -> Bool {
        var end: ContinuousClock.Instant?
        switch options.stay {
        case .no: return false
        case .during(let time): end = started + time
        case .untilEmpty: break
        }
        if isTimeUp() { return false }
        if let end, pass.began >= end { return false }
        // What this pass deferred is not in its listing: list again before deciding that nothing is left. If it cannot be
        // listed the next pass says why.
        guard let again = try? choose(budget: options.limit) else { return true }
        if !again.chosen.isEmpty || summary.leftForeign { return true }
        if options.stay == .untilEmpty, again.waiting == 0 {
            summary.nextDue = nil
            return false
        }
        summary.nextDue = again.nextDue
        if let end, again.began >= end { return again.foreign > 0 }
        // New files are looked for once a second, less often where a listing is long.
        let now = ContinuousClock.now
        var next = now + max(.seconds(1), again.cost * 20)
        if let due = again.nextDue { next = min(next, now + max(.milliseconds(1), due - world.now())) }
        if let end { next = min(next, end) }
        if let maxTime = options.maxTime { next = min(next, started + maxTime) }
        let before = summary.timeSpent.begin(.waiting)
        Interruption.sleep(until: next)
        summary.timeSpent.begin(before)
        listenToPeople()
        return !interrupted() && summary.end == .done && !isTimeUp()
    }

    /// Notes the end of `--max-time` as the end of this run.
    private func isTimeUp() -> Bool {
        guard let maxTime = options.maxTime, .now >= started + maxTime else { return false }
        summary.end = .timeUp
        return true
    }

    /// Notes a signal as the end of this run.
    func interrupted() -> Bool {
        let signal = Interruption.received
        guard signal.count > 0 else { return false }
        summary.end = .signal(signal.last)
        return true
    }

    // MARK: - Counting

    private func count(_ recovery: Recovery) {
        summary.recovered = recovery.returned.count
        summary.quarantined += recovery.quarantined.count
        for error in recovery.errors { inputOutput(error) }
        if !recovery.returned.isEmpty || !recovery.quarantined.isEmpty { report(.recovered(recovery)) }
    }

    func quarantined(_ item: QuarantineItem) {
        summary.quarantined += 1
        report(.quarantined(item))
    }

    /// One operation or file could not be dealt with; the others go on. A full disk is told once; so is a lost hold, which
    /// ends the run.
    func inputOutput(_ error: SpoolError) {
        if error.kind == .lostHold {
            if hasLostHold { return }
            hasLostHold = true
            if summary.end == .done { summary.end = .broken(error.description) }
        }
        summary.inputOutputErrors += 1
        if error.isFullDisk {
            if isFullDiskTold { return }
            isFullDiskTold = true
        }
        report(.inputOutputError(error))
    }

    /// The directory does not do what it must: no further claim.
    func broken(_ error: SpoolError) {
        inputOutput(error)
        if summary.end == .done { summary.end = .broken(error.description) }
    }

    private func prune() {
        let now = world.now()
        let retention = configuration.retention
        do throws(SpoolError) {
            let last = try StateFile.retention.contents(in: spool).flatMap {
                Timestamp(rfc3339: String(decoding: $0, as: UTF8.self).filter { !$0.isNewline })
            }
            if let look = retention.look(last: last, now: now) {
                if let limit = look.limit { _ = try spool.prune(.failed, olderThan: limit) }
                if look.isRemembered {
                    try StateFile.retention.replace(
                        with: Array("\(now.rfc3339)\n".utf8), durable: true, in: spool)
                }
            }
            if retention.delivered > .zero { _ = try spool.prune(.delivered, olderThan: now - retention.delivered) }
        } catch {
            inputOutput(error)
        }
    }
}
