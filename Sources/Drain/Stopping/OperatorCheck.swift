import Policy
import Spool

/// A check for changes from outside during a pass, at most once a second: an operator's pauses and holds, destinations
/// that another run has found blocked, the number of runs, and this machine's network and power.
struct OperatorCheck {
    private let clock: RunClock
    private let tally: RunTally
    private let conditions: MachineConditions
    private let noteRun: () -> Void
    private var next: ContinuousClock.Instant
    /// The time at which the run writes again that it is there.
    private var nextNote: ContinuousClock.Instant

    init(_ parts: RunParts) {
        clock = parts.world.clock
        tally = parts.tally
        conditions = parts.conditions
        noteRun = parts.noteRun
        next = clock.instant() + Self.interval
        nextNote = clock.instant() + Self.noteInterval
    }

    static let interval = Duration.seconds(1)
    private static let noteInterval = Duration.seconds(60)

    /// Takes over pauses, holds, other runs and the state of this machine, unless the last check was less than a second
    /// ago, or less than four times its duration: with a million destinations a check takes long. A paused queue ends
    /// the run.
    mutating func refresh(_ settling: inout Settling) {
        let start = clock.instant()
        guard start >= next else { return }
        defer {
            let end = clock.instant()
            next = max(start + Self.interval, end + (end - start) * 4)
        }
        if start >= nextNote {
            noteRun()
            nextNote = start + Self.noteInterval
        }
        do throws(SpoolError) {
            if try settling.spool.isPaused { tally.end(.paused) }
            // Synced first: another process may have the lock of the ledger for long.
            settling.syncOrEndRun()
            try settling.book.adoptRecords()
            settling.book.share(with: try settling.spoolRun.otherRuns.count + 1)
            conditions.lookAgain()
        } catch let error where error.isOfNewerFormat {
            // The run cannot know any more what is held.
            tally.endRun(because: error)
        } catch {
            tally.inputOutput(error)
        }
    }
}
