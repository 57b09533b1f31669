import Policy
import Spool

/// The passes of a run. Each begins like a run, chooses operations and attempts them; before the next pass, a pass ends
/// like a run. So a staying run is as good as many short ones, and keeps nothing from others while it waits.
final class Passes {
    private let spoolRun: SpoolRun
    private let configuration: Configuration
    private let options: RunOptions
    private let world: World
    private let tally: RunTally
    private let chooser: PassChooser
    private let stop: StopCheck
    private let sender: RequestSender
    private let settler: Settler
    private let dispatcher: Dispatcher
    /// How many times a pass admits up to `SpoolRun.admissionSize` foreign files.
    private static let admissions = 10
    /// The number of expired operations that this pass may still fail.
    private var mayExpire = 0
    /// The earliest end of a pass with an immediate successor.
    private var nextEnd: ContinuousClock.Instant

    init(
        _ spoolRun: SpoolRun, _ configuration: Configuration, _ options: RunOptions, _ world: World,
        _ tally: RunTally, _ chooser: PassChooser, _ stop: StopCheck, _ sender: RequestSender, _ settler: Settler,
        _ dispatcher: Dispatcher
    ) {
        self.spoolRun = spoolRun
        self.configuration = configuration
        self.options = options
        self.world = world
        self.tally = tally
        self.chooser = chooser
        self.stop = stop
        self.sender = sender
        self.settler = settler
        self.dispatcher = dispatcher
        nextEnd = world.clock.instant()
    }

    private var clock: RunClock { world.clock }

    /// Begins a pass: takes the sequence lock, unless another run has the lock or no type sent by this run has an
    /// order, and recovers dead runs.
    func begin() throws(SpoolError) {
        let now = clock.now()
        tally.count(try asksForSequences ? spoolRun.takeSequenceLock(now: now) : spoolRun.recover(now: now))
    }

    /// Whether any type sent by the run has an order. If not, the run leaves the sequence lock to others.
    private var asksForSequences: Bool {
        options.types.isEmpty
            ? configuration.hasSequentialRoutes : options.types.contains { configuration.route(of: $0).isSequential }
    }

    /// Chooses the operations of the next pass. Settles superseded and expired operations.
    func next() throws(SpoolError) -> Pass {
        settler.operations.claimsLost = []
        mayExpire = options.limit
        var pass = try choose(budget: options.limit)
        if !pass.isEmpty { try spoolRun.syncRunDirectory() }
        settle(&pass)
        return pass
    }

    /// Attempts the chosen operations, and then more due ones up to the limit. If a destination is blocked meanwhile,
    /// operations of others take its place.
    func attempt(_ pass: inout Pass) {
        var budget = options.limit
        while true {
            let due = pass.chosen.count + pass.leftDue
            if !pass.chosen.isEmpty { tally.tell(.chosen(min(budget, due), leftDue: max(0, due - budget))) }
            let blocked = settler.book.blockedCount
            let begun = dispatcher.attempt(pass.chosen)
            budget -= begun
            settler.book.countLeft(of: pass, begun: begun)
            // Nothing was begun, and no further destination was blocked. Otherwise the chosen operations may all be for
            // destinations blocked since: choose for others.
            let isStuck = begun == 0 && settler.book.blockedCount <= blocked
            let leavesDue = pass.leftDue + settler.book.skippedAndOpen > 0
            let isOver = !settler.operations.hasToListAgain && (isStuck || !leavesDue)
            settler.operations.hasToListAgain = false
            if tally.hasEnded || budget <= 0 || isOver { break }
            do throws(SpoolError) {
                pass = try choose(budget: budget)
                settle(&pass)
            } catch {
                tally.endRun(because: error)
                break
            }
        }
        settler.book.isFirstPass = false
    }

    /// Lists and chooses. If the listing has foreign files, makes a cut, admits them, and decides an order only for the
    /// operations of the cut. While one of the files cannot be named, only operations without an order are chosen.
    private func choose(budget: Int) throws(SpoolError) -> Pass {
        // A user who names operations wants all of them now, not only this run's share.
        let otherRuns = try spoolRun.otherRuns
        settler.book.share(with: otherRuns.count + 1)
        let peers = options.ids == nil ? Peers(of: spoolRun.name, others: otherRuns) : .none
        let authority: Chooser.Authority = spoolRun.hasSequenceLock ? .hasSequenceLock : .undecided
        tally.summary.leftForeign = false
        let pass = try chooser.choose(budget: budget, authority, peers)
        if pass.foreign == 0 { return pass }
        // Until they are admitted: a signal may come before.
        tally.summary.leftForeign = true
        var cut = try chooser.cut()
        let isNamed = try admit(&cut) && cut.isWhole
        return try chooser.choose(budget: budget, isNamed ? authority : .undecided, peers, of: consume cut)
    }

    /// Admits foreign files, but leaves the pass time to deliver: the rest waits for the next pass. Returns whether
    /// each file that was there has its name, or is in quarantine.
    private func admit(_ cut: inout Cut) throws(SpoolError) -> Bool {
        for _ in 0..<Self.admissions where clock.signals().count == 0 {
            var control = AdmissionControl(configuration)
            let admission = try spoolRun.admitForeign(now: clock.now(), within: &control)
            cut.take(admission)
            // First: a value may have replaced an older one, and then have been evicted itself.
            for older in admission.superseded { settler.noteSuperseded(older.entry.name, by: older.newer) }
            tally.count(admission)
            if !tally.summary.leftForeign { return admission.errors.isEmpty }
        }
        return false
    }

    /// Settles the operations that need no attempt: superseded and expired ones.
    private func settle(_ pass: inout Pass) {
        settler.supersede(&pass, limit: options.limit, stop)
        mayExpire -= settler.expire(&pass, atMost: mayExpire, sender, stop)
    }

    // MARK: - Staying

    /// Ends a pass: syncs and tells what it did, and gives the sequence lock back. Nothing is in flight.
    func end() {
        guard settler.syncOrEndRun() else { return }
        spoolRun.releaseSequenceLock()
        settler.book.tell()
        nextEnd = clock.instant() + .seconds(1)
        world.passEnded(tally.summary(deferred: settler.operations.deferred.count))
    }

    /// Waits for the next pass if the options ask for one. Returns false if the run is over.
    ///
    /// The time of `--wait` ends with a listing: operations added in its last moment, or during a long pass, are
    /// attempted too. The path unit, which starts runs for added operations, does not see them while this run goes on.
    func waitForNextPass(after pass: Pass) -> Bool {
        var end: ContinuousClock.Instant?
        switch options.stay {
        case .no: return false
        case .during(let time): end = tally.moment(after: time)
        case .untilEmpty: break
        }
        if stop.isTimeUp() { return false }
        if let end, pass.began >= end { return false }
        settler.book.resumeLeft()
        // Operations deferred by this pass are not in its listing, and another run may have died: recover and list
        // again before deciding that none is left.
        // try?: the next pass reports the error.
        guard (try? begin()) != nil, let again = try? choose(budget: options.limit) else { return true }
        if !again.chosen.isEmpty || tally.summary.leftForeign {
            if clock.instant() >= nextEnd { self.end() }
            return !stop.mustStop()
        }
        // Another run may have the sequence lock: it leaves what this run then sends.
        let isLeft = again.undecided > 0 && !spoolRun.hasSequenceLock
        if options.stay == .untilEmpty, again.waiting == 0, !isLeft {
            tally.summary.nextDue = nil
            return false
        }
        tally.summary.nextDue = again.nextDue
        if let end, again.began >= end { return again.foreign > 0 }
        self.end()
        stop.sleep(until: nextListing(after: again, end))
        return !stop.mustStop()
    }

    /// Returns the time of the next listing: in a second, later if listings are long, sooner if something is due.
    private func nextListing(after pass: Pass, _ end: ContinuousClock.Instant?) -> ContinuousClock.Instant {
        let now = clock.instant()
        var next = now + max(.seconds(1), pass.cost * 20)
        if let due = pass.nextDue { next = min(next, now + max(.milliseconds(1), due - clock.now())) }
        return min(next, end ?? next)
    }
}
