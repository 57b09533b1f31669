import Drain
import Policy
import Spool

/// The counters of `send`, as for a run. Writes them to `state/metrics.json` once a second and at the end.
struct SendCounting {
    private let spool: SpoolDirectory
    private var counters = Counters()
    private var nextWrite = ContinuousClock.now
    private var hasWarned = false

    init(_ spool: SpoolDirectory) {
        self.spool = spool
    }

    mutating func take(_ attempt: AttemptEvent) {
        counters.take(.attempted(attempt), at: .now())
    }

    /// Adds the counts to the file, unless it did so within the last second. A failed write is a warning, once.
    mutating func write() {
        if .now < nextWrite { return }
        end()
        nextWrite = .now + .seconds(1)
    }

    /// Adds the counts to the file.
    mutating func end() {
        if counters.isEmpty { return }
        do throws(SpoolError) {
            try counters.addToFile(in: spool)
        } catch {
            if !hasWarned { Messages.warning(error.description, hint: error.hint) }
            hasWarned = true
        }
        counters = Counters()
    }
}
