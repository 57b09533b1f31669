import Policy
import Spool

/// The passes of a run: chooses, attempts what was chosen and more of what is due, and waits where the options say so.
final class Passes {
    private let claims: SpoolRun
    private let configuration: Configuration
    private let options: RunOptions
    private let clock: RunClock
    private let tally: RunTally
    private let chooser: PassChooser
    private let stop: StopCheck
    private let sender: RequestSender
    private let settler: Settler
    private let dispatcher: Dispatcher
    /// How often `SpoolRun.admissionSize` dropped files are admitted before a pass.
    private static let admissions = 10

    init(
        _ claims: SpoolRun, _ configuration: Configuration, _ options: RunOptions, _ clock: RunClock,
        _ tally: RunTally, _ chooser: PassChooser, _ stop: StopCheck, _ sender: RequestSender, _ settler: Settler,
        _ dispatcher: Dispatcher
    ) {
        self.claims = claims
        self.configuration = configuration
        self.options = options
        self.clock = clock
        self.tally = tally
        self.chooser = chooser
        self.stop = stop
        self.sender = sender
        self.settler = settler
        self.dispatcher = dispatcher
    }

    /// Chooses the operations of a pass; dropped files are admitted before.
    func next() throws(SpoolError) -> Pass {
        settler.operations.lost = []
        var pass = try choose(budget: options.limit)
        tally.summary.leftForeign = false
        if pass.foreign > 0 {
            try admit()
            pass = try choose(budget: options.limit)
        }
        if !pass.isEmpty { try claims.anchor() }
        settle(&pass)
        return pass
    }

    /// Attempts what was chosen, and then more of what is due, up to the limit. Where a destination closed meanwhile, others
    /// have what it leaves.
    func attempt(_ pass: inout Pass) {
        var budget = options.limit
        while true {
            let due = pass.chosen.count + pass.leftDue
            if !pass.chosen.isEmpty { tally.tell(.chosen(min(budget, due), leftDue: max(0, due - budget))) }
            let closed = settler.book.closedCount
            let begun = dispatcher.attempt(pass.chosen)
            budget -= begun
            settler.book.countLeft(of: pass, begun: begun)
            // What was chosen may have been for destinations that have closed since: others have their turn.
            let isStuck = begun == 0 && settler.book.closedCount <= closed
            let isOver = !settler.operations.hasToListAgain && (isStuck || pass.leftDue == 0)
            settler.operations.hasToListAgain = false
            if tally.hasEnded || budget <= 0 || isOver { break }
            do throws(SpoolError) {
                pass = try choose(budget: budget)
                settle(&pass)
            } catch {
                tally.broken(error)
                break
            }
        }
        settler.book.isFirstPass = false
    }

    private func choose(budget: Int) throws(SpoolError) -> Pass {
        // A person who names operations wants all of them now.
        let company = try claims.company
        settler.book.share(with: company.count + 1)
        let peers = options.ids == nil ? Peers(of: claims.name, others: company) : .none
        return try chooser.choose(budget: budget, claims.hasOrder ? .decided : .elsewhere, peers)
    }

    /// Admits dropped files, and no more of them than leaves the pass time to deliver; the rest waits.
    private func admit() throws(SpoolError) {
        for _ in 0..<Self.admissions where clock.signals().count == 0 {
            var admittance = Admittance(configuration)
            tally.count(try claims.admitForeign(now: clock.now(), within: &admittance))
            if !tally.summary.leftForeign { return }
        }
    }

    /// Settles what goes without an attempt.
    private func settle(_ pass: inout Pass) {
        settler.supersede(&pass, limit: options.limit, stop)
        settler.expire(&pass, sender, stop)
    }

    // MARK: - Staying

    /// Waits for the next pass where the options ask for one; false where the run is over.
    ///
    /// The time of `--wait` ends with a look: what was added within it is attempted, in its last moment and during a long
    /// pass too. Whoever starts a run for what is added (the path unit) sees nothing of that while the run goes on.
    func waits(after pass: Pass) -> Bool {
        var end: ContinuousClock.Instant?
        switch options.stay {
        case .no: return false
        case .during(let time): end = tally.moment(after: time)
        case .untilEmpty: break
        }
        if stop.isTimeUp() { return false }
        if let end, pass.began >= end { return false }
        settler.book.takeUpAgain()
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
        stop.sleep(until: nextLook(after: again, end))
        return !stop.mustStop()
    }

    /// When the queue is listed again: once a second for new files, less often where a listing is long.
    private func nextLook(after pass: Pass, _ end: ContinuousClock.Instant?) -> ContinuousClock.Instant {
        let now = clock.instant()
        var next = now + max(.seconds(1), pass.cost * 20)
        if let due = pass.nextDue { next = min(next, now + max(.milliseconds(1), due - clock.now())) }
        return min(next, end ?? next)
    }
}
