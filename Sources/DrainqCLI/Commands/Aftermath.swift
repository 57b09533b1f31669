import Drain
import Policy
import Spool

/// What a run leaves besides settled operations: its summary and its counts for `status`, a file of metrics, and what
/// hooks are told.
struct Aftermath {
    private var counters = Counters()
    private var news = RunNews()

    mutating func take(_ event: RunEvent, at now: Timestamp) {
        counters.take(event, at: now)
        news.take(event)
    }

    /// Leaves the summary. A run that had nothing to do writes nothing, so that an idle timer costs no sync.
    func leaveSummary(_ summary: RunSummary, in queue: OpenQueue) throws(SpoolError) {
        let view = SummaryView(summary, exitStatus(of: summary))
        guard view.didSomething else { return }
        try queue.spool.writeState("last-run.json", Array((JSONLine.text(view) + "\n").utf8))
    }

    /// Leaves the rest. What is only there to be watched is a warning where it cannot be done, and changes nothing of the
    /// run.
    mutating func leave(_ summary: RunSummary, _ status: ExitStatus, in queue: OpenQueue) {
        if SummaryView(summary, status).didSomething {
            counters.countRun(status)
            do throws(SpoolError) {
                try counters.addToFile(in: queue.spool)
            } catch {
                Messages.warning(error.description, hint: error.hint)
            }
        }
        if let file = queue.configuration.metricsTextfile { publishMetrics(of: queue, to: file) }
        if !queue.configuration.hooks.commands.isEmpty { callHooks(of: queue) }
    }

    /// After each run, also one that had nothing to do: what waits, and what is closed, may have changed since the last.
    private func publishMetrics(of queue: OpenQueue, to file: String) {
        do {
            let exposition = try Exposition(of: queue, at: .now())
            do throws(SpoolError) {
                try queue.spool.publish(Array(exposition.text.utf8), at: file)
            } catch {
                Messages.warning(
                    error.description, hint: "its directory must be writable by the user that runs drainq")
            }
        } catch {
            Messages.warning("\(error)")
        }
    }

    private func callHooks(of queue: OpenQueue) {
        let now = Timestamp.now()
        do throws(SpoolError) {
            let due = try news.due(by: queue.configuration.hooks, in: queue.spool, at: now)
            // What the run has said does not wait for them.
            if !due.isEmpty { standardOutput.flush() }
            for call in HookCall.calls(for: due, queue: queue, at: now) {
                if let failure = call.run() { Messages.warning(failure) }
            }
        } catch {
            Messages.warning(error.description, hint: error.hint)
        }
    }
}
