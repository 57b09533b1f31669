import Policy
import Spool

/// A check for changes from outside during a pass, at most once a second: an operator's pauses and holds, destinations
/// that another run has found blocked, the number of runs, and this machine's network and power.
final class OperatorCheck {
    private let spool: SpoolDirectory
    private let spoolRun: SpoolRun
    private let clock: RunClock
    private let tally: RunTally
    private let book: DestinationBook
    private let conditions: MachineConditions
    private var next: ContinuousClock.Instant

    init(
        _ spool: SpoolDirectory, _ spoolRun: SpoolRun, _ clock: RunClock, _ tally: RunTally, _ book: DestinationBook,
        _ conditions: MachineConditions
    ) {
        self.spool = spool
        self.spoolRun = spoolRun
        self.clock = clock
        self.tally = tally
        self.book = book
        self.conditions = conditions
        next = clock.instant() + Self.interval
    }

    private static let interval = Duration.seconds(1)

    /// Takes over pauses, holds, other runs and the state of this machine, unless the last check was less than a second
    /// ago, or less than four times its duration: with a million destinations a check takes long. A paused queue ends
    /// the run.
    func refresh() {
        let start = clock.instant()
        guard start >= next else { return }
        defer {
            let end = clock.instant()
            next = max(start + Self.interval, end + (end - start) * 4)
        }
        do throws(SpoolError) {
            if try spool.isPaused { tally.end(.paused) }
            try book.adoptRecords()
            book.share(with: try spoolRun.otherRuns.count + 1)
            conditions.lookAgain()
        } catch let error where error.isOfNewerFormat {
            // The run cannot know any more what is held.
            tally.endRun(because: error)
        } catch {
            tally.inputOutput(error)
        }
    }
}
