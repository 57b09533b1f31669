import Drain
import Policy
import Spool

/// The recorder of a run: takes every event, writes the last summary, the counters and the file of metrics, and calls
/// hooks. `Hooks.Event` in Policy lists the events that hooks can have.
struct RunObserver {
    var queue: OpenQueue {
        didSet { news = RunNews(for: queue.configuration.hooks, after: news) }
    }
    private var counters = Counters()
    private var news: RunNews
    private var log = LogRecorder()
    private var waiting = WaitingCount()
    private var hasStarted = false
    /// Whether the run has done anything: sent, settled, held, found out.
    private var hasActed = false
    /// Whether events have come since the last record.
    private var hasNews = false
    /// The time of the next record of a run that stays, if nothing happens.
    private var nextRecord: ContinuousClock.Instant
    private let clock = RunClock.ofProcess
    /// The codes of the errors that the observer has reported.
    private var causes: Set<Int32> = []

    init(of queue: OpenQueue) {
        self.queue = queue
        news = RunNews(for: queue.configuration.hooks)
        nextRecord = clock.instant()
    }

    /// Records an event of the run. Calls the hook `started` before the first attempt.
    mutating func take(_ event: RunEvent, at now: Timestamp) {
        counters.take(event, at: now)
        news.take(event)
        if case .destinationChanged(let change) = event {
            log.add(waiting.added(to: change, in: queue))
        } else {
            log.take(event, at: now)
        }
        write(log.takeEnded(at: now))
        switch event {
        case .chosen, .stopping: break
        default: (hasActed, hasNews) = (true, true)
        }
        guard !hasStarted, case .chosen(let count, let leftDue) = event else { return }
        hasStarted = true
        guard queue.configuration.hooks.commands[.started] != nil else { return }
        news.started(count + leftDue)
        callHooks()
    }

    /// Records the end of a pass as the end of a run, if anything has happened since the last record, or a minute has
    /// passed. Returns whether it did.
    mutating func endPass(_ summary: RunSummary, _ status: ExitStatus) -> Bool {
        guard hasNews || clock.instant() >= nextRecord else { return false }
        record(SummaryView(summary, status), didSomething: hasNews)
        callHooks(with: conditions)
        return true
    }

    /// Records the end of the run. A record that cannot be written is a warning, once for each cause, and does not
    /// change the result of the run.
    mutating func finish(_ summary: RunSummary, _ status: ExitStatus) {
        let view = SummaryView(summary, status)
        // A run that had nothing to do does not write, so that an idle timer costs no sync.
        let didSomething = hasActed || view.didSomething
        if didSomething {
            counters.countRun(exitStatus: status.rawValue)
            log.add(LogEvent(summary, status, configuration: queue.configurationDigest, at: .now()))
        }
        record(view, didSomething: didSomething)
        if hasStarted || didSomething { news.ended(view.inWords) }
        callHooks(with: conditions)
    }

    private mutating func record(_ view: SummaryView, didSomething: Bool) {
        (hasNews, nextRecord) = (false, clock.instant() + .seconds(60))
        if didSomething {
            do throws(SpoolError) {
                // A power cut may lose this record. The results of operations are in the queue.
                try StateFile.lastRun.replace(with: Array((JSONLine.text(view) + "\n").utf8), in: queue.spool)
                try counters.addToFile(in: queue.spool)
                counters = Counters()
            } catch {
                warn(error)
            }
        }
        write(log.take())
        if let file = queue.configuration.metricsTextfile {
            publish(to: file) { try Exposition(of: $0, at: .now()).text }
        }
        if let file = queue.configuration.page, didSomething {
            publish(to: file) { try QueuePage(of: $0, at: .now()).html }
        }
    }

    private mutating func write(_ lines: [LogEvent]) {
        do throws(SpoolError) {
            try queue.spool.log(lines, upTo: queue.configuration.log, at: .now())
        } catch {
            warn(error)
        }
    }

    /// Writes a file for others in one step. The metrics are written also after a run without work: waiting operations
    /// and blocked destinations may differ.
    private mutating func publish(to file: String, _ text: (OpenQueue) throws -> String) {
        do {
            let text = try text(queue)
            do throws(SpoolError) {
                try queue.spool.publish(Array(text.utf8), at: file)
            } catch {
                warn(error, hint: "its directory must be writable by the user that runs drainq")
            }
        } catch {
            Messages.warning("\(error)")
        }
    }

    /// The destinations that are down or have a backlog, for hooks.
    private var conditions: [Hooks.Event: [String: String]] {
        do {
            return try RunNews.conditions(of: queue, at: .now())
        } catch {
            Messages.warning("\(error)")
            return [:]
        }
    }

    private mutating func callHooks(with conditions: [Hooks.Event: [String: String]] = [:]) {
        if queue.configuration.hooks.commands.isEmpty { return }
        let now = Timestamp.now()
        do throws(SpoolError) {
            let due = try news.due(
                by: queue.configuration.hooks, in: queue.spool, conditions: conditions, at: now)
            // The output of the run does not wait for hooks.
            if !due.isEmpty { standardOutput.flush() }
            for call in HookCall.calls(for: due, queue: queue, at: now) {
                if let failure = call.run() { Messages.warning(failure) }
            }
        } catch {
            warn(error)
        }
    }

    private mutating func warn(_ error: SpoolError, hint: String? = nil) {
        if causes.insert(error.code).inserted { Messages.warning(error.description, hint: error.hint ?? hint) }
    }
}
