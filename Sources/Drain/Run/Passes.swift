import Policy
import Spool

/// The passes of a run. Each begins like a run, chooses operations and attempts them; before the next pass, a pass ends
/// like a run. So a staying run is as good as many short ones, and keeps nothing from others while it waits.
struct Passes: ~Copyable {
    private let spoolRun: SpoolRun
    private var parts: RunParts
    private var choice: Choice
    private var dispatch: Dispatch
    /// The earliest time to look again for what retention no longer keeps.
    private var nextPrune: ContinuousClock.Instant
    /// The changed configuration that the next pass takes over; `nil` if the file says what is in force.
    private var renewal: (configuration: Configuration, world: World)?
    /// The number of expired operations that this pass may still fail.
    private var mayExpire = 0
    /// The earliest end of a pass with an immediate successor.
    private var nextEnd: ContinuousClock.Instant

    init(_ parts: RunParts, _ spoolRun: SpoolRun) {
        self.spoolRun = spoolRun
        self.parts = parts
        choice = Choice(parts)
        dispatch = Dispatch(parts, Settling(parts, spoolRun, OperationBook()))
        nextEnd = parts.world.clock.instant()
        nextPrune = nextEnd
    }

    private var options: RunOptions { parts.options }
    private var tally: RunTally { parts.tally }
    private var clock: RunClock { parts.world.clock }

    /// Makes passes until the run is over. Throws an error of the first listing.
    mutating func attemptAll() throws(SpoolError) {
        var pass = try next()
        var hasBegun = attempt(&pass)
        do throws(SpoolError) {
            while !tally.hasEnded, waitForNextPass(after: pass, hasBegun) {
                renew()
                try begin()
                pass = try next()
                hasBegun = attempt(&pass)
            }
        } catch {
            tally.endRun(because: error)
        }
        parts.book.tell()
        noteWithheld()
        if spoolRun.hasUntold { tell() }
        prune()
    }

    /// Has the reports of this run written. From then on its failures need no marks. After an error, which the writer
    /// reports, the next recovery tells of them.
    private func tell() {
        if hasReported() { spoolRun.haveTold() } else { spoolRun.couldNotTell() }
    }

    /// Has the reports of this run written. Returns whether they are, and the ledger has what they follow from.
    private func hasReported() -> Bool { parts.world.reportsDue(summary) && parts.book.hasToldAll }

    /// Records the due operations that were put back untried.
    private mutating func noteWithheld() {
        WithheldOperations.note(dispatch.settling.operations.reasons, in: parts.spool, at: clock.now())
        dispatch.settling.operations.reasons = [:]
    }

    /// Removes what retention no longer keeps. Takes at most a twentieth of the time.
    private mutating func prune() {
        let start = clock.instant()
        if start < nextPrune { return }
        // A removal is for good, so an edit of the retention during the pass counts.
        lookAtConfiguration()
        let configuration = renewal?.configuration ?? parts.configuration
        for error in parts.spool.prune(by: configuration, now: clock.now()) { tally.inputOutput(error) }
        let end = clock.instant()
        nextPrune = end + max(.seconds(1), start.duration(to: end) * 20)
    }

    private mutating func lookAtConfiguration() { renewal = (renewal?.world ?? parts.world).renewal() ?? renewal }

    /// Takes over a changed configuration. What was made of single operations stays, but documents that a server has
    /// refused are tried once more.
    private mutating func renew() {
        lookAtConfiguration()
        if renewal == nil { return }
        end()
        close()
        guard let (configuration, world) = renewal.take() else { return }
        parts = RunParts(parts.spool, configuration, options, world, tally)
        parts.book.isFirstPass = false
        choice = Choice(parts)
        var operations = dispatch.settling.operations
        operations.apart = []
        dispatch = Dispatch(parts, Settling(parts, spoolRun, operations))
        nextEnd = clock.instant()
    }

    /// Ends the agents.
    func close() { parts.sender.close() }

    /// The counts so far.
    var summary: RunSummary { tally.summary(dispatch.settling.operations) }

    /// Begins a pass: recovers dead runs. Its listing takes the sequence locks.
    mutating func begin() throws(SpoolError) {
        func finish(_ claim: Claim, _ url: String?, _ began: Timestamp?) throws(SpoolError) {
            try dispatch.settling.finishDelivery(of: claim, url: url, began: began)
        }
        func tell(_ ends: [UntoldEnd]) throws(SpoolError) -> Bool {
            try tally.foundEnded(ends) { (new) throws(SpoolError) in
                try parts.spool.events(
                    of: new, by: parts.configuration, at: clock.now(), recording: parts.book.take)
            } write: {
                hasReported()
            }
        }
        tally.count(try spoolRun.recover(now: clock.now(), finishing: finish, telling: tell))
    }

    /// Chooses the operations of the next pass. Settles superseded and expired operations.
    private mutating func next() throws(SpoolError) -> Pass {
        (dispatch.settling.operations.claimsLost, dispatch.settling.operations.withheld) = ([], [])
        mayExpire = options.limit
        var pass = try list(budget: options.limit)
        if !pass.isEmpty { try spoolRun.syncRunDirectory() }
        settle(&pass)
        return pass
    }

    /// Lists and chooses. Notes which operations of the run still wait. From now on values replace older ones by the
    /// time of this listing: the values that it has found due.
    private mutating func list(budget: Int) throws(SpoolError) -> Pass {
        let pass = try choice.pass(budget: budget, dispatch.settling)
        dispatch.settling.operations.note(standing: pass.standing)
        dispatch.settling.rule.moment = pass.moment
        return pass
    }

    /// Attempts the chosen operations, and then more due ones up to the limit. If a destination is blocked meanwhile,
    /// operations of others take its place. Returns whether it has begun any.
    private mutating func attempt(_ pass: inout Pass) -> Bool {
        var budget = options.limit
        while true {
            let due = pass.chosen.count + pass.leftDue
            if !pass.chosen.isEmpty { tally.tell(.chosen(min(budget, due), leftDue: max(0, due - budget))) }
            let blocked = parts.book.blockedCount
            let begun = dispatch.attempt(pass.chosen, merging: pass.merged)
            budget -= begun
            parts.book.countLeft(of: pass, begun: begun)
            // Nothing was begun, and no further destination was blocked. Otherwise the chosen operations may all be for
            // destinations blocked since: choose for others.
            let isStuck = begun == 0 && parts.book.blockedCount <= blocked
            let leavesDue = pass.leftDue + parts.book.passedOverAndDue(in: pass) > 0
            let isOver = !dispatch.settling.hasToListAgain && (isStuck || !leavesDue)
            dispatch.settling.hasToListAgain = false
            if tally.hasEnded || budget <= 0 || isOver { break }
            do throws(SpoolError) {
                pass = try list(budget: budget)
                settle(&pass)
            } catch {
                tally.endRun(because: error)
                break
            }
        }
        noteWaiting(pass)
        parts.book.isFirstPass = false
        return budget < options.limit
    }

    /// Settles the operations that need no attempt: superseded and expired ones.
    private mutating func settle(_ pass: inout Pass) {
        if pass.takeMerged() { dispatch.settling.hasToListAgain = true }
        if let reason = pass.undecidedBecause {
            for id in pass.undecided { dispatch.settling.operations.reasons[id] = reason }
        }
        dispatch.settling.supersede(&pass, limit: options.limit, &dispatch.stop)
        mayExpire -= dispatch.settling.failExpired(&pass, atMost: mayExpire, &dispatch.stop)
    }

    // MARK: - Staying

    /// Notes what waits after a listing.
    private func noteWaiting(_ pass: Pass) {
        (tally.summary.nextDue, tally.summary.isLeftToOthers) = (pass.nextDue, pass.isLeftToOthers)
        tally.summary.leavesWaiting = options.stay == .untilEmpty && (pass.leavesWaiting || tally.summary.paused > 0)
    }

    /// Ends a pass like a run: puts back open claims, syncs and tells what it did, and gives the sequence locks
    /// back. Nothing is in flight.
    private mutating func end() {
        do throws(SpoolError) { try spoolRun.putBackOpen() } catch { tally.inputOutput(error) }
        guard dispatch.settling.syncOrEndRun() else { return }
        spoolRun.sequences.release()
        parts.sender.endPass()
        parts.book.tell()
        noteWithheld()
        dispatch.settling = Settling(parts, spoolRun, dispatch.settling.operations.ofRun)
        nextEnd = clock.instant() + .seconds(1)
        tell()
        prune()
    }

    /// Waits for the next pass if the options ask for one. Returns false if the run is over.
    ///
    /// The time of `--wait` ends with a listing: operations added in its last moment, or during a long pass, are
    /// attempted too. The path unit, which starts runs for added operations, does not see them while this run goes on.
    ///
    /// What is due and could not be begun waits for another process, for a slot for example.
    private mutating func waitForNextPass(after pass: Pass, _ hasBegun: Bool) -> Bool {
        var end: ContinuousClock.Instant?
        switch options.stay {
        case .no: return false
        case .during(let time): end = tally.moment(after: time)
        case .untilEmpty: break
        }
        if dispatch.stop.endIfTimeIsUp() { return false }
        if let end, pass.began >= end { return false }
        parts.book.resumeLeft()
        // Operations deferred by this pass are not in its listing, and another run may have died: recover and list
        // again before deciding that none is left.
        // try?: the next pass reports the error.
        guard (try? begin()) != nil, let again = try? list(budget: options.limit) else {
            return true
        }
        if hasBegun && !again.chosen.isEmpty || tally.summary.leftForeign {
            if clock.instant() >= nextEnd { self.end() }
            return !dispatch.stopIfAsked()
        }
        // Another run may have a sequence lock: it leaves what this run then sends.
        if options.stay == .untilEmpty, again.chosen.isEmpty, !again.leavesWaiting {
            (tally.summary.nextDue, tally.summary.leavesWaiting) = (nil, tally.summary.paused > 0)
            return false
        }
        noteWaiting(again)
        if let end, again.began >= end { return again.foreign > 0 }
        self.end()
        dispatch.stop.sleep(until: nextListing(after: again, end))
        return !dispatch.stopIfAsked()
    }

    /// Returns the time of the next listing: in a second, later if listings are long, sooner if something is due.
    private func nextListing(after pass: Pass, _ end: ContinuousClock.Instant?) -> ContinuousClock.Instant {
        let now = clock.instant()
        var next = now + max(.seconds(1), pass.cost * 20)
        if let due = pass.nextDue { next = min(next, now + max(.milliseconds(1), due - clock.now())) }
        return min(next, end ?? next)
    }
}
