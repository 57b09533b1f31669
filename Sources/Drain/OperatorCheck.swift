import Policy
import Spool

/// Looks within a pass, at most once a second, for what an operator has paused or held, for destinations that another run
/// has found closed, and for this machine's network and power.
final class OperatorCheck {
    private let spool: SpoolDirectory
    private let clock: RunClock
    private let tally: RunTally
    private let book: DestinationBook
    private let conditions: MachineConditions
    private var last: ContinuousClock.Instant

    init(
        _ spool: SpoolDirectory, _ clock: RunClock, _ tally: RunTally, _ book: DestinationBook,
        _ conditions: MachineConditions
    ) {
        self.spool = spool
        self.clock = clock
        self.tally = tally
        self.book = book
        self.conditions = conditions
        last = clock.instant()
    }

    /// Looks, if a second has passed since the last look. A paused queue ends the run.
    func look() {
        let now = clock.instant()
        guard now - last >= .seconds(1) else { return }
        last = now
        book.tell()
        do throws(SpoolError) {
            if try spool.isPaused { tally.summary.end = .paused }
            try book.hear()
            conditions.lookAgain()
        } catch {
            tally.inputOutput(error)
        }
    }
}
