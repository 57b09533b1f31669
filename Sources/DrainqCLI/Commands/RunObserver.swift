import Drain
import Policy
import Spool

/// The recorder of a run: takes every event, writes the last summary, the ledger of reports and the file of metrics,
/// gives the log its lines, and calls hooks. `Hooks.Event` in Policy lists the events that hooks can have.
struct RunObserver {
    var queue: OpenQueue
    private var untold = Untold()
    private var waiting = WaitingCount()
    private var hasStarted = false
    /// Whether the run has done anything: sent, settled, held, found out.
    private var hasActed = false
    /// Whether events have come since the last record, or could not be recorded.
    private var hasNews = false
    /// The time of the next record of a run that stays, if nothing happens.
    private var nextRecord: ContinuousClock.Instant
    private let clock = RunClock.ofProcess

    init(of queue: OpenQueue) {
        self.queue = queue
        nextRecord = clock.instant()
    }

    private var hooks: Hooks { queue.configuration.hooks }

    /// Records an event of the run. Calls the hook `started` before the first attempt.
    mutating func take(_ event: RunEvent, at now: Timestamp) {
        if case .changed(let change) = event {
            untold.take(waiting.added(to: change, in: queue))
        } else {
            untold.take(event, for: hooks, at: now)
        }
        untold.writeEnded(to: queue, at: now)
        switch event {
        case .chosen, .stopping: break
        case .changed(let change) where change.kind == .gap: break
        default: (hasActed, hasNews) = (true, true)
        }
        guard !hasStarted, case .chosen(let count, let leftDue) = event else { return }
        hasStarted = true
        guard hooks.commands[.started] != nil else { return }
        let due = count + leftDue
        untold.take(
            News(.started, reason: "\(InWords.count(due, "operation")) \(due == 1 ? "is" : "are") due"), for: hooks)
        call(write { [hooks] in $0.takeDue(by: hooks, at: now) })
    }

    /// Records the end of a pass as the end of a run, if anything has happened since the last record, or a minute has
    /// passed. Returns false if the ledger of reports could not be written: the next record has everything.
    mutating func endPass(_ summary: RunSummary, _ status: ExitStatus, _ reporter: inout RunReporter) -> Bool {
        reporter.endPass()
        guard hasNews || clock.instant() >= nextRecord else { return true }
        let isRecorded = record(SummaryView(summary, status), didSomething: hasNews, &reporter)
        hasNews = !isRecorded
        return isRecorded
    }

    /// Records what a run has reported that ended with an error before its first attempt.
    mutating func abandon(_ reporter: inout RunReporter) { call(tell(&reporter)) }

    /// Records the end of the run. A record that cannot be written is a warning, once for each cause, and does not
    /// change the result of the run.
    mutating func finish(_ summary: RunSummary, _ status: ExitStatus, _ reporter: inout RunReporter) {
        let view = SummaryView(summary, status)
        // A run that had nothing to do does not write, so that an idle timer costs no sync.
        let didSomething = hasActed || view.didSomething
        if didSomething {
            untold.countRun(status)
            untold.take(
                LogEvent(summary, status, configuration: queue.configuration.digest.map { "\($0)" }, at: .now()))
        }
        if hasStarted || didSomething { untold.take(News(.ended, reason: view.inWords), for: hooks) }
        _ = record(view, didSomething: didSomething, isEnd: true, &reporter)
    }

    /// Returns whether the ledger of reports was written.
    private mutating func record(
        _ view: SummaryView, didSomething: Bool, isEnd: Bool = false, _ reporter: inout RunReporter
    ) -> Bool {
        nextRecord = clock.instant() + .seconds(60)
        if didSomething {
            do throws(SpoolError) {
                // A power cut may lose this record. The results of operations are in the queue.
                try StateFile.lastRun.replace(with: Array((JSONLine.text(view) + "\n").utf8), in: queue.spool)
            } catch {
                untold.warn(error)
            }
        }
        let due = tell(&reporter)
        // The ledger has these reports as told: a process that ends before the calls loses them.
        call(due)
        if let file = queue.configuration.metricsTextfile {
            publish(to: file) { try Exposition(of: $0, at: .now()).text }
        }
        publishPage(isEnd: didSomething && isEnd)
        return due != nil
    }

    /// Adds what is new to the ledger of reports, and tells the log and mail. Returns what hooks are to be called for;
    /// `nil` if the ledger could not be written.
    private mutating func tell(_ reporter: inout RunReporter) -> [News]? {
        guard hasToTell(reporter) else { return [] }
        let (spool, hooks, conditions, now) = (queue.spool, hooks, conditions, Timestamp.now())
        let due = write { ledger in
            // try?: the run reports a ledger of destinations that it cannot read.
            let destinations = try? DestinationsFile(spool: spool).read()
            if let destinations { ledger.oweChanges(to: destinations, at: now) }
            reporter.mail(in: &ledger, destinations)
            return hooks.commands.isEmpty ? [] : ledger.takeDue(by: hooks, conditions, at: now)
        }
        if due != nil { reporter.haveMailed() }
        return due
    }

    /// Whether this run has met something, or an earlier one may have left something to tell.
    private func hasToTell(_ reporter: RunReporter) -> Bool {
        if !untold.isEmpty || !hooks.commands.isEmpty { return true }
        do throws(SpoolError) {
            let destinations = try DestinationsFile(spool: queue.spool).read()
            let ledger = try StateFile.reports.read(ReportLedger.self, in: queue.spool) ?? ReportLedger()
            return !ledger.lines.isEmpty || !ledger.changes(to: destinations, at: .now()).isEmpty
                || reporter.hasMail(destinations)
        } catch {
            return true
        }
    }

    private mutating func write(_ take: (inout ReportLedger) -> [News]) -> [News]? {
        var due: [News] = []
        do throws(SpoolError) {
            try untold.write(to: queue) { due = take(&$0) }
            return due
        } catch {
            untold.warn(error)
            return nil
        }
    }

    /// Writes the page at the end of a run with work; otherwise only if it is a minute old, since the ages and the last
    /// run change all the same. A run without work reads no log.
    private mutating func publishPage(isEnd: Bool) {
        guard let file = queue.configuration.page else { return }
        if !isEnd, let written = queue.spool.timeOfPublished(file), Timestamp.now() - written < .seconds(55),
            written <= .now()
        {
            return
        }
        publish(to: file) { queue in
            let now = Timestamp.now()
            return try QueuePage(of: queue, at: now, DayLog.update(in: queue.spool, at: now)).html
        }
    }

    static let hintToPublish = "the path is that of a file, in a directory that is there and that runs can write"

    /// Writes a file for others in one step. The metrics are written also after a run without work: waiting operations
    /// and blocked destinations may differ.
    private mutating func publish(to file: String, _ text: (OpenQueue) throws -> String) {
        do {
            let text = try text(queue)
            do throws(SpoolError) {
                try queue.spool.publish(Array(text.utf8), at: file)
            } catch {
                guard untold.recordCause(of: error),
                    queue.spool.recordIfDue(complaint: error.description, at: .now())
                else { return }
                Messages.warning(error.description, hint: error.hint ?? Self.hintToPublish)
            }
        } catch {
            Messages.warning("\(error)")
        }
    }

    /// The destinations that are held, are down or have a backlog, for hooks.
    private var conditions: [Hooks.Event: [String: HookCondition]] {
        do {
            return try hooks.conditions(of: queue.spool, queue.configuration, at: .now())
        } catch {
            Messages.warning("\(error)")
            return [:]
        }
    }

    private func call(_ due: [News]?) {
        guard let due, !due.isEmpty else { return }
        // The output of the run does not wait for hooks.
        standardOutput.flush()
        for call in HookCall.calls(for: due, queue: queue, at: .now()) {
            if let failure = call.run() { Messages.warning(failure) }
        }
    }
}
