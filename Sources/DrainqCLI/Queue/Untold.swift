import Drain
import Policy
import Spool

/// What a process has met, and the ledger of reports does not have yet: counts, lines of the log, and reports for hooks
/// and mail. Runs and commands have no other way to them.
///
/// `write` adds all of it to `state/reports.json` in one write. From then on the ledger owes each listener what it has
/// not taken, whichever of them refuses: a failure is counted once, and its mark may end.
struct Untold {
    private var ledger = ReportLedger()
    private var log = LogRecorder()
    private let clock = RunClock.ofProcess
    /// The earliest time of the next write that can wait. Such writes take at most a twentieth of the time.
    private var nextWrite: ContinuousClock.Instant?
    /// The codes of the errors that the process has reported.
    private var causes: Set<Int32> = []

    var isEmpty: Bool { ledger.isEmpty && log.isEmpty }

    /// Takes an event of a run or a command. `hooks` are those that hear of the event; `nil` if none does.
    mutating func take(_ event: RunEvent, for hooks: Hooks? = nil, at now: Timestamp) {
        ledger.counters.take(event, at: now)
        if let hooks, !hooks.commands.isEmpty { ledger.take(event, for: hooks) }
        log.take(event, at: now)
    }

    /// Takes a line of the log.
    mutating func take(_ line: LogEvent) { log.add(line) }

    /// Takes a report for these hooks.
    mutating func take(_ news: News, for hooks: Hooks) { if !hooks.commands.isEmpty { ledger.owe(news) } }

    /// Counts a run.
    mutating func countRun(_ status: ExitStatus) { ledger.counters.countRun(exitStatus: status.rawValue) }

    /// Adds everything to the ledger, and gives the log its lines. `others` takes what else is due, and is called once.
    /// The lines of failures wait until the ledger is written, as the marks of the failures do: without a ledger, the
    /// next run tells of them again. After an error, which is thrown, the next call has everything but the lines that
    /// the log has taken.
    mutating func write(to queue: OpenQueue, others: (inout ReportLedger) -> Void = { _ in }) throws(SpoolError) {
        ledger.owe(log.take())
        let waits = ledger.owesFailure
        var hasLogged = false
        do throws(SpoolError) {
            try StateFile.reports.update(ReportLedger(), in: queue.spool) {
                $0.counters = $0.counters.orEarlier(in: queue.spool)
                $0.add(ledger)
                others(&$0)
                if !waits { hasLogged = giveLog(&$0, queue) }
            }
        } catch {
            if hasLogged { ledger.haveLogged() }
            throw error
        }
        ledger = ReportLedger()
        guard waits else { return }
        do throws(SpoolError) {
            try StateFile.reports.update(ReportLedger(), in: queue.spool) { _ = giveLog(&$0, queue) }
        } catch {
            warn(error)
        }
    }

    /// Gives the log the lines that nothing is added to any more: changes, and the minutes that have ended. Lines that
    /// come too soon wait for the next call.
    mutating func writeEnded(to queue: OpenQueue, at now: Timestamp) {
        let lines = log.takeEnded(at: now)
        if lines.isEmpty { return }
        let start = clock.instant()
        if let nextWrite, start < nextWrite { return lines.forEach { log.add($0) } }
        defer {
            let end = clock.instant()
            nextWrite = end + start.duration(to: end) * 20
        }
        var (ended, hasLogged) = (ReportLedger(), false)
        ended.owe(lines)
        do throws(SpoolError) {
            try StateFile.reports.update(ReportLedger(), in: queue.spool) {
                $0.add(ended)
                hasLogged = giveLog(&$0, queue)
            }
        } catch {
            if !hasLogged { ledger.owe(lines) }
            warn(error)
        }
    }

    /// Gives the log what the ledger owes it. Returns false if the log refuses: the ledger goes on owing. Without a
    /// terminal the error is reported once an hour.
    private mutating func giveLog(_ ledger: inout ReportLedger, _ queue: OpenQueue) -> Bool {
        let now = Timestamp.now()
        do throws(SpoolError) {
            try queue.spool.log(ledger.lines, upTo: queue.configuration.log, at: now)
            ledger.haveLogged()
            return true
        } catch {
            if ledger.tell(error.description, at: now) || Terminal.isOnStandardError { warn(error) }
            return false
        }
    }

    /// Reports an error, once for each cause.
    mutating func warn(_ error: SpoolError) {
        if recordCause(of: error) { Messages.warning(error.description, hint: error.hint) }
    }

    /// Records the cause of an error as reported. Returns false if the process has reported it before.
    mutating func recordCause(of error: SpoolError) -> Bool { causes.insert(error.code).inserted }
}
