import Policy
import Spool

/// Looks within a pass for what ends the run or closes a destination: a signal, the time limit, an operator.
final class StopCheck {
    private let spool: SpoolDirectory
    private let clock: RunClock
    private let tally: RunTally
    private let book: DestinationBook
    private let conditions: MachineConditions
    /// When the time of the run is up; `nil` where it has no limit.
    let timeLimit: ContinuousClock.Instant?
    private var lastRead: ContinuousClock.Instant

    init(
        _ spool: SpoolDirectory, _ clock: RunClock, _ tally: RunTally, _ book: DestinationBook,
        _ conditions: MachineConditions, maxTime: Duration?
    ) {
        self.spool = spool
        self.clock = clock
        self.tally = tally
        self.book = book
        self.conditions = conditions
        timeLimit = maxTime.map { tally.moment(after: $0) }
        lastRead = clock.instant()
    }

    /// Whether no more is to be claimed: a signal, the time, or a queue that cannot be trusted with another outcome.
    func mustStop() -> Bool {
        readHolds()
        return tally.hasEnded || isTimeUp() || tally.isInterrupted()
    }

    /// Notes the end of `--max-time` as the end of this run; false before it.
    func isTimeUp() -> Bool {
        guard let timeLimit, clock.instant() >= timeLimit else { return false }
        tally.summary.end = .timeUp
        return true
    }

    /// Re-reads pauses and holds at most once a second: an operator may have set one.
    private func readHolds() {
        guard clock.instant() - lastRead >= .seconds(1) else { return }
        lastRead = clock.instant()
        book.tell()
        do throws(SpoolError) {
            if try spool.isPaused { tally.summary.end = .paused }
            try book.hear()
            conditions.lookAgain()
        } catch {
            tally.inputOutput(error)
        }
    }

    // MARK: - Waiting

    /// Waits, for what comes due, until then or until something else has to be noticed.
    func sleep(until deadline: ContinuousClock.Instant) {
        let before = tally.begin(.waiting)
        clock.sleep(min(deadline, timeLimit ?? deadline))
        tally.begin(before)
    }
}
