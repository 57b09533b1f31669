import Drain
import Policy
import Spool

/// Sees every event of a run and records it for others: the summary and the counts for `status`, the file of metrics, and
/// the calls of hooks. Which events hooks can have is `Hooks.Event` in Policy.
struct RunObserver {
    private let queue: OpenQueue
    private var counters = Counters()
    private var news: RunNews
    private var hasStarted = false
    /// The codes of the errors that have been told.
    private var causes: Set<Int32> = []

    init(of queue: OpenQueue) {
        self.queue = queue
        news = RunNews(for: queue.configuration.hooks)
    }

    /// Takes an event of the run in. The hook `started` is called here, before the first attempt.
    mutating func take(_ event: RunEvent, at now: Timestamp) {
        counters.take(event, at: now)
        news.take(event)
        guard !hasStarted, case .chosen(let count, let leftDue) = event else { return }
        hasStarted = true
        guard queue.configuration.hooks.commands[.started] != nil else { return }
        news.started(count + leftDue)
        callHooks()
    }

    /// Records the end of the run. A record that cannot be written is a warning, told once for each cause, and changes
    /// nothing of the run.
    mutating func finish(_ summary: RunSummary, _ status: ExitStatus) {
        let view = SummaryView(summary, status)
        // A run that had nothing to do writes nothing, so that an idle timer costs no sync.
        if view.didSomething {
            counters.countRun(exitStatus: status.rawValue)
            do throws(SpoolError) {
                // A power cut may take it: what has become of operations is in the queue.
                try StateFile.lastRun.replace(with: Array((JSONLine.text(view) + "\n").utf8), in: queue.spool)
                try counters.addToFile(in: queue.spool)
            } catch {
                warn(error)
            }
        }
        if let file = queue.configuration.metricsTextfile { publishMetrics(to: file) }
        if queue.configuration.hooks.commands.isEmpty { return }
        if hasStarted || view.didSomething { news.ended(view.inWords) }
        callHooks()
    }

    /// After each run, also one that had nothing to do: what waits, and what is closed, may have changed since the last.
    private mutating func publishMetrics(to file: String) {
        do {
            let exposition = try Exposition(of: queue, at: .now())
            do throws(SpoolError) {
                try queue.spool.publish(Array(exposition.text.utf8), at: file)
            } catch {
                warn(error, hint: "its directory must be writable by the user that runs drainq")
            }
        } catch {
            Messages.warning("\(error)")
        }
    }

    private mutating func callHooks() {
        let now = Timestamp.now()
        do throws(SpoolError) {
            let due = try news.due(by: queue.configuration.hooks, in: queue.spool, at: now)
            // What the run has said does not wait for them.
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
