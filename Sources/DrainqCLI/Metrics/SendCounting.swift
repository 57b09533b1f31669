import Drain
import Policy
import Spool

/// Counts what `send` does, as a run counts: `state/metrics.json` is written once a second and at the end.
struct SendCounting {
    private let spool: SpoolDirectory
    private var counters = Counters()
    private var nextWrite = ContinuousClock.now
    private var isLost = false

    init(_ spool: SpoolDirectory) {
        self.spool = spool
    }

    mutating func take(_ attempt: AttemptEvent) {
        counters.take(.attempted(attempt), at: .now())
    }

    /// Adds what was counted to the file, unless that was done within the last second. A counter that cannot be written is
    /// a warning, once.
    mutating func write() {
        if .now < nextWrite { return }
        end()
        nextWrite = .now + .seconds(1)
    }

    /// Adds what was counted to the file.
    mutating func end() {
        if counters.isEmpty { return }
        do throws(SpoolError) {
            try counters.addToFile(in: spool)
        } catch {
            if !isLost { Messages.warning(error.description, hint: error.hint) }
            isLost = true
        }
        counters = Counters()
    }
}
