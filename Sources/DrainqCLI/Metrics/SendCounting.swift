import Drain
import Policy
import Spool

/// The counters of `send`, as for a run, and its lines of the log. Writes both once a second and at the end.
struct SendCounting {
    /// The queue with the configuration of the last operation.
    var queue: OpenQueue
    private var untold = Untold()
    private var waiting = WaitingCount()
    private let clock = RunClock.ofProcess
    private var nextWrite: ContinuousClock.Instant

    init(_ queue: OpenQueue) {
        self.queue = queue
        nextWrite = clock.instant()
    }

    /// Takes an event of `send`. Hooks do not hear of an operation whose submitter does. Writes at once what a dead run
    /// has left.
    mutating func take(_ event: RunEvent) {
        switch event {
        case .changed(let change): untold.take(waiting.added(to: change, in: queue))
        case .attempted, .settledUnsent: untold.take(event, at: clock.now())
        default: untold.take(event, for: queue.configuration.hooks, at: clock.now())
        }
        if case .recovered = event { end() }
    }

    /// Adds the operations that made room for one that stays to the log.
    mutating func take(_ postponement: OperationSender.Postponement) {
        queue.noteEvictions((postponement.displaced?.evicted ?? []).map(\.name))
    }

    /// Writes the counts and lines, unless it did so within the last second. A failed write is a warning, once.
    mutating func write() {
        if clock.instant() < nextWrite { return }
        end()
        nextWrite = clock.instant() + .seconds(1)
    }

    /// Writes the counts and lines.
    mutating func end() {
        if untold.isEmpty { return }
        do throws(SpoolError) { try untold.write(to: queue) } catch { untold.warn(error) }
    }
}
