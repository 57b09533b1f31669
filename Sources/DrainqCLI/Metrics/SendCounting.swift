import Drain
import Policy
import Spool

/// The counters of `send`, as for a run, and its lines of the log. Writes both once a second and at the end.
struct SendCounting {
    /// The queue with the configuration of the last operation.
    var queue: OpenQueue
    private var counters = Counters()
    private var log = LogRecorder()
    private var waiting = WaitingCount()
    private let clock = RunClock.ofProcess
    private var nextWrite: ContinuousClock.Instant
    private var hasReportedError = false

    init(_ queue: OpenQueue) {
        self.queue = queue
        nextWrite = clock.instant()
    }

    mutating func take(_ attempt: AttemptEvent) {
        counters.take(.attempted(attempt), at: clock.now())
        log.take(.attempted(attempt), at: clock.now())
    }

    /// Adds a change of a destination to the log. Notes at once what a dead run has left.
    mutating func take(_ event: RunEvent) {
        switch event {
        case .changed(let change): log.add(waiting.added(to: change, in: queue))
        case .recovered: do throws(SpoolError) { try queue.note([event]) } catch { warn(error) }
        default: break
        }
    }

    /// Adds the operations that made room for one that stays to the log.
    mutating func take(_ postponement: OperationSender.Postponement) {
        queue.noteEvictions((postponement.displaced?.evicted ?? []).map(\.name))
    }

    /// Adds the counts to the file, unless it did so within the last second. A failed write is a warning, once.
    mutating func write() {
        if clock.instant() < nextWrite { return }
        end()
        nextWrite = clock.instant() + .seconds(1)
    }

    /// Adds the counts to the file.
    mutating func end() {
        if counters.isEmpty, log.isEmpty { return }
        do throws(SpoolError) {
            try counters.addToFile(in: queue.spool)
            try queue.spool.log(log.take(), upTo: queue.configuration.log, at: clock.now())
        } catch {
            warn(error)
        }
        counters = Counters()
    }

    private mutating func warn(_ error: SpoolError) {
        if !hasReportedError { Messages.warning(error.description, hint: error.hint) }
        hasReportedError = true
    }
}
