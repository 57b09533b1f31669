import Delivery
package import Policy
package import Spool

/// One run over a queue: choose, claim, attempt, settle, count, stop. The only place of order and concurrency.
///
/// A run is one thread: between two reports of the sink it settles and claims, so the directory is only ever touched
/// from here. What was claimed when the process dies is returned by the next run (SpoolDirectory, table of states).
package final class Run {
    let spool: SpoolDirectory
    let configuration: Configuration
    let options: RunOptions
    var world: World
    let tally: RunTally
    let book: DestinationBook
    var sink: (any Sink)?
    /// The destinations that have something to do out of turn: there may be thousands of others.
    var unusual: Set<Digest> = []
    /// Whether this run has the sequence lock.
    var hasOrder = false
    /// Whether the user has been told that the names lock could not be had.
    var isNamesLockTold = false
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
        tally = RunTally(startedAt: world.now(), report: report)
        book = DestinationBook(spool, configuration, world, tally, ignoresBackoff: options.ignoresBackoff)
    }

    /// Runs, and returns what it came to. Throws only where nothing was attempted: the queue cannot be read or claimed in.
    package func callAsFunction() throws(SpoolError) -> RunSummary {
        defer { sink?.close() }
        if try spool.isPaused {
            tally.summary.end = .paused
            return tally.summary
        }
        let claims = try spool.beginRun(now: world.now())
        tally.count(asksForSequences ? try claims.takeOrder(now: world.now()) : try claims.recover(now: world.now()))
        hasOrder = claims.hasOrder
        if options.failsIfBusy, try claims.hasCompany {
            tally.summary.end = .busy
            try claims.end()
            return tally.summary
        }
        var pass = try nextPass(claims, budget: options.limit)
        while true {
            try makePass(&pass, claims)
            book.isFirstPass = false
            if tally.summary.end != .done || !waits(after: pass) { break }
            do throws(SpoolError) {
                pass = try nextPass(claims, budget: options.limit)
            } catch {
                tally.broken(error)
                break
            }
        }
        book.tell()
        prune()
        do throws(SpoolError) {
            try claims.end()
        } catch {
            tally.broken(error)
        }
        tally.summary.deferred = waiting.count
        tally.summary.timeSpent.end()
        tally.summary.duration = .now - started
        return tally.summary
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
            if !pass.chosen.isEmpty { tally.tell(.chosen(min(budget, due), leftDue: max(0, due - budget))) }
            let begun = attempt(pass.chosen, claims)
            budget -= begun
            tally.summary.nextDue = pass.nextDue
            countLeft(pass, begun)
            let isOver = !hasToListAgain && (begun == 0 || pass.leftDue == 0)
            hasToListAgain = false
            if tally.summary.end != .done || budget <= 0 || isOver { return }
            do throws(SpoolError) {
                pass = try choose(budget: budget)
                supersede(&pass, claims)
                expire(&pass, claims)
            } catch {
                return tally.broken(error)
            }
        }
    }

    private func nextPass(_ claims: SpoolRun, budget: Int) throws(SpoolError) -> Pass {
        var pass = try choose(budget: budget)
        tally.summary.leftForeign = false
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
            tally.summary.superseded += admission.superseded.count
            for entry in admission.dropped { tally.tell(.dropped(entry.name)) }
            for item in admission.quarantined { tally.quarantined(item) }
            for error in admission.errors { tally.inputOutput(error) }
            tally.summary.leftForeign = admission.hasMore && admission.errors.isEmpty
            if !tally.summary.leftForeign { return }
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
                tally.summary.superseded += 1
                let name = older.entry.name
                let destination = book.table.destination(of: name).name
                tally.tell(.superseded(name, by: older.newer, destination: destination))
            }
            try makeDurable(claims)
        } catch {
            tally.broken(error)
        }
        let isWaiting: (Candidate) -> Bool = { $0.sequence.map(waiting.contains) ?? false }
        pass.chosen.removeAll(where: isWaiting)
        if !waiting.isEmpty { for lane in book.lanes.values { lane.newest.removeAll(where: isWaiting) } }
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
                tally.inputOutput(error)
            }
        }
    }

    /// Counts what is still due, as the last listing has it: because of its destination, or because the run ends here.
    private func countLeft(_ pass: Pass, _ begun: Int) {
        tally.summary.held = pass.heldBehindFailed
        tally.summary.waiting = 0
        tally.summary.paused = 0
        tally.summary.leftDue =
            pass.leftDue + pass.leftExpired + (tally.summary.end == .done ? 0 : pass.chosen.count - begun)
        for lane in book.lanes.values where lane.isClosed {
            let blameless = lane.skipped + max(0, lane.offered - lane.done)
            switch lane.block?.reason {
            case .held: tally.summary.held += blameless
            case .retryAfter, .circuitBreaker, nil: tally.summary.waiting += blameless
            case .paused: tally.summary.paused += blameless
            }
            tally.summary.leftDue -= max(0, lane.offered - lane.chosen)
        }
        tally.summary.leftDue = max(0, tally.summary.leftDue)
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
        if !again.chosen.isEmpty || tally.summary.leftForeign { return true }
        if options.stay == .untilEmpty, again.waiting == 0 {
            tally.summary.nextDue = nil
            return false
        }
        tally.summary.nextDue = again.nextDue
        if let end, again.began >= end { return again.foreign > 0 }
        // New files are looked for once a second, less often where a listing is long.
        let now = ContinuousClock.now
        var next = now + max(.seconds(1), again.cost * 20)
        if let due = again.nextDue { next = min(next, now + max(.milliseconds(1), due - world.now())) }
        if let end { next = min(next, end) }
        if let maxTime = options.maxTime { next = min(next, started + maxTime) }
        let before = tally.summary.timeSpent.begin(.waiting)
        Interruption.sleep(until: next)
        tally.summary.timeSpent.begin(before)
        listenToPeople()
        return !tally.interrupted() && tally.summary.end == .done && !isTimeUp()
    }

    /// Notes the end of `--max-time` as the end of this run.
    private func isTimeUp() -> Bool {
        guard let maxTime = options.maxTime, .now >= started + maxTime else { return false }
        tally.summary.end = .timeUp
        return true
    }

    // MARK: - Pruning

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
            tally.inputOutput(error)
        }
    }
}
