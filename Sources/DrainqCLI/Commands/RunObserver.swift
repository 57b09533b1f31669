import Drain
import Policy
import Spool

/// The recorder of a run: takes every event, writes the last summary, the counters and the file of metrics, and calls
/// hooks. `Hooks.Event` in Policy lists the events that hooks can have.
struct RunObserver {
    var queue: OpenQueue
    private var counters = Counters()
    /// What hooks are to be told.
    private var news = ReportLedger()
    private var log = LogRecorder()
    /// Lines of the log that could not be written yet.
    private var unwritten: [LogEvent] = []
    private var waiting = WaitingCount()
    private var hasStarted = false
    /// Whether the run has done anything: sent, settled, held, found out.
    private var hasActed = false
    /// Whether events have come since the last record.
    private var hasNews = false
    /// The time of the next record of a run that stays, if nothing happens.
    private var nextRecord: ContinuousClock.Instant
    private let clock = RunClock.ofProcess
    /// Whether all of the last record was written.
    private var hasWritten = true
    /// The most lines that wait to be written.
    private static let mostUnwritten = 10_000
    /// The codes of the errors that the observer has reported.
    private var causes: Set<Int32> = []

    init(of queue: OpenQueue) {
        self.queue = queue
        nextRecord = clock.instant()
    }

    /// Records an event of the run. Calls the hook `started` before the first attempt.
    mutating func take(_ event: RunEvent, at now: Timestamp) {
        counters.take(event, at: now)
        news.take(event, for: queue.configuration.hooks)
        if case .changed(let change) = event {
            log.add(waiting.added(to: change, in: queue))
        } else {
            log.take(event, at: now)
        }
        write(log.takeEnded(at: now))
        switch event {
        case .chosen, .stopping: break
        case .changed(let change) where change.kind == .gap: break
        default: (hasActed, hasNews) = (true, true)
        }
        guard !hasStarted, case .chosen(let count, let leftDue) = event else { return }
        hasStarted = true
        guard queue.configuration.hooks.commands[.started] != nil else { return }
        let due = count + leftDue
        news.owe(News(.started, reason: "\(InWords.count(due, "operation")) \(due == 1 ? "is" : "are") due"))
        callHooks()
    }

    /// Records the end of a pass as the end of a run, if anything has happened since the last record, or a minute has
    /// passed. `mailing` records what mail has told and is owed, and returns whether this was written. Returns false if
    /// the log, the counters or what hooks or mail are owed could not be written: the next record has them.
    mutating func endPass(_ summary: RunSummary, _ status: ExitStatus, mailing: () -> Bool) -> Bool {
        guard hasNews || clock.instant() >= nextRecord else { return true }
        hasWritten = true
        record(SummaryView(summary, status), didSomething: hasNews)
        callHooks(with: conditions)
        if !mailing() { hasWritten = false }
        hasNews = !hasWritten
        return hasWritten
    }

    /// Records what a run has reported that ended with an error before its first attempt.
    mutating func abandon() {
        if !counters.isEmpty { writeCounters() }
        write(log.take())
        callHooks()
    }

    /// Records the end of the run. A record that cannot be written is a warning, once for each cause, and does not
    /// change the result of the run.
    mutating func finish(_ summary: RunSummary, _ status: ExitStatus) {
        let view = SummaryView(summary, status)
        // A run that had nothing to do does not write, so that an idle timer costs no sync.
        let didSomething = hasActed || view.didSomething
        if didSomething {
            counters.countRun(exitStatus: status.rawValue)
            log.add(LogEvent(summary, status, configuration: queue.configuration.digest.map { "\($0)" }, at: .now()))
        }
        record(view, didSomething: didSomething, isEnd: true)
        if hasStarted || didSomething { news.owe(News(.ended, reason: view.inWords)) }
        callHooks(with: conditions)
    }

    private mutating func record(_ view: SummaryView, didSomething: Bool, isEnd: Bool = false) {
        (hasNews, nextRecord) = (false, clock.instant() + .seconds(60))
        if didSomething {
            do throws(SpoolError) {
                // A power cut may lose this record. The results of operations are in the queue.
                try StateFile.lastRun.replace(with: Array((JSONLine.text(view) + "\n").utf8), in: queue.spool)
            } catch {
                warn(error)
            }
            writeCounters()
        }
        write(log.take())
        if let file = queue.configuration.metricsTextfile {
            publish(to: file) { try Exposition(of: $0, at: .now()).text }
        }
        publishPage(isEnd: didSomething && isEnd)
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

    private mutating func writeCounters() {
        do throws(SpoolError) {
            try counters.addToFile(in: queue.spool)
            counters = Counters()
        } catch {
            warn(error)
        }
    }

    private mutating func write(_ lines: [LogEvent]) {
        unwritten += lines
        if unwritten.isEmpty { return }
        do throws(SpoolError) {
            try queue.spool.log(unwritten, upTo: queue.configuration.log, at: .now())
            unwritten = []
        } catch {
            unwritten = unwritten.suffix(Self.mostUnwritten)
            warn(error)
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
                let complaint = Complaint(text: error.description, hint: error.hint ?? RunObserver.hintToPublish)
                guard causes.insert(error.code).inserted, complaint.recordIfDue(in: queue.spool, at: .now()) else {
                    return
                }
                Messages.warning(complaint.text, hint: complaint.hint)
            }
        } catch {
            Messages.warning("\(error)")
        }
    }

    /// The destinations that are held, are down or have a backlog, for hooks.
    private var conditions: [Hooks.Event: [String: HookCondition]] {
        do {
            return try queue.configuration.hooks.conditions(of: queue.spool, queue.configuration, at: .now())
        } catch {
            Messages.warning("\(error)")
            return [:]
        }
    }

    private mutating func callHooks(with conditions: [Hooks.Event: [String: HookCondition]] = [:]) {
        if queue.configuration.hooks.commands.isEmpty { return }
        let now = Timestamp.now()
        do throws(SpoolError) {
            var due: [News] = []
            try StateFile.reports.update(ReportLedger(), in: queue.spool) {
                $0.add(news)
                due = $0.takeDue(by: queue.configuration.hooks, conditions, at: now)
            }
            news = ReportLedger()
            // The output of the run does not wait for hooks.
            if !due.isEmpty { standardOutput.flush() }
            for call in HookCall.calls(for: due, queue: queue, at: now) {
                if let failure = call.run() { Messages.warning(failure) }
            }
        } catch {
            warn(error)
        }
    }

    private mutating func warn(_ error: SpoolError) {
        hasWritten = false
        if causes.insert(error.code).inserted { Messages.warning(error.description, hint: error.hint) }
    }
}
