import Drain
import Policy
import Spool

/// The counters of `send`, as for a run, and its lines of the log. Writes both once a second and at the end.
struct SendCounting {
    /// The queue with the configuration of the last operation.
    var queue: OpenQueue
    /// Whether the queue has each operation from the start.
    private let queues: Bool
    private var untold = Untold()
    /// The failure of an operation whose submitter has not been told of it. If the submitter never is, the next
    /// recovery counts the failure.
    private var failure: RunEvent?
    private var waiting = WaitingCount()
    private let clock = RunClock.ofProcess
    private var nextWrite: ContinuousClock.Instant

    init(_ queue: OpenQueue, queues: Bool) {
        (self.queue, self.queues) = (queue, queues)
        nextWrite = clock.instant()
    }

    /// Takes an event of `send`. Hooks do not hear of an operation whose submitter does. Writes at once what a dead run
    /// has left.
    mutating func take(_ event: RunEvent) {
        switch event {
        case .changed(let change): untold.take(waiting.added(to: change, in: queue))
        case .attempted(let attempt) where queues && attempt.hasFailed,
            .settledUnsent(let attempt) where queues && attempt.hasFailed:
            failure = event
        case .attempted, .settledUnsent: untold.take(event, at: clock.now())
        default: untold.take(event, for: queue.configuration.hooks, at: clock.now())
        }
        if case .recovered = event { end() }
    }

    /// Counts a failure: its submitter has been told, and its operation has left the queue.
    mutating func haveTold() {
        if let failure = failure.take() { untold.take(failure, at: clock.now()) }
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
