import Drain
import Policy
import Spool

/// The counters of `send`, as for a run. Writes them to `state/metrics.json` once a second and at the end.
struct SendCounting {
    private let spool: SpoolDirectory
    private var counters = Counters()
    private let clock = RunClock.ofProcess
    private var nextWrite: ContinuousClock.Instant
    private var hasReportedError = false

    init(_ spool: SpoolDirectory) {
        self.spool = spool
        nextWrite = clock.instant()
    }

    mutating func take(_ attempt: AttemptEvent) {
        counters.take(.attempted(attempt), at: clock.now())
    }

    /// Adds the counts to the file, unless it did so within the last second. A failed write is a warning, once.
    mutating func write() {
        if clock.instant() < nextWrite { return }
        end()
        nextWrite = clock.instant() + .seconds(1)
    }

    /// Adds the counts to the file.
    mutating func end() {
        if counters.isEmpty { return }
        do throws(SpoolError) {
            try counters.addToFile(in: spool)
        } catch {
            if !hasReportedError { Messages.warning(error.description, hint: error.hint) }
            hasReportedError = true
        }
        counters = Counters()
    }
}
