import Policy
import Spool

/// The summary of a run in progress, and the reporter of its events.
final class RunTally {
    var summary: RunSummary
    private var timeSpent: TimeSpent
    /// Whether the run has lost its lock: other runs may have taken over its claims.
    private(set) var hasLostLock = false
    /// The last reported error with an operation or a file.
    private(set) var lastError: SpoolError?
    /// The errors reported by the run. A full disk is one error, whatever the path.
    private var told: Set<String> = []
    /// The ends by dead runs that this run has reported, and whose reports are not written yet.
    private var unwritten: Set<UntoldEnd> = []
    private let clock: RunClock
    private let started: ContinuousClock.Instant
    private let report: (RunEvent) -> Void

    init(clock: RunClock, report: @escaping (RunEvent) -> Void) {
        self.clock = clock
        self.report = report
        started = clock.instant()
        timeSpent = TimeSpent(now: started)
        summary = RunSummary(startedAt: clock.now(), timeSpent: timeSpent)
    }

    func tell(_ event: RunEvent) { report(event) }

    // MARK: - Time

    /// Begins an activity. Returns the activity before, for the caller to begin again later.
    @discardableResult
    func begin(_ activity: TimeSpent.Activity) -> TimeSpent.Activity {
        timeSpent.begin(activity, now: clock.instant())
    }

    /// The duration of the run so far.
    var elapsed: Duration { clock.instant() - started }

    /// Returns the moment at this time after the start of the run.
    func moment(after time: Duration) -> ContinuousClock.Instant { started + time }

    // MARK: - Counts

    /// Counts the operations claimed by dead runs.
    func count(_ recovery: Recovery) {
        summary.recovered += recovery.returned.count
        summary.quarantined += recovery.quarantined.count
        for error in recovery.errors { inputOutput(error) }
        if recovery.isNews { tell(.recovered(recovery)) }
    }

    /// Counts what the admission of foreign files did, but for what it superseded (`Settling.noteSuperseded`).
    func count(_ admission: Admission, _ destinations: DestinationTable) {
        for entry in admission.evicted {
            tell(.evicted(entry.name, destination: destinations.destination(of: entry.name).name))
        }
        for item in admission.quarantined { quarantined(item) }
        for error in admission.errors { inputOutput(error) }
        summary.leftForeign = admission.hasMore && admission.errors.isEmpty
    }

    func quarantined(_ item: QuarantineItem) {
        summary.quarantined += 1
        tell(.quarantined(item))
    }

    /// Counts and reports the disposition of an operation. `isSent`: whether a request was sent for it.
    func settled(_ event: AttemptEvent, isSent: Bool) {
        switch event.settlement.disposition {
        case .delivered: summary.delivered += 1
        case .failed:
            summary.failed += 1
            if event.record.ruleCode == .expired { summary.expired += 1 }
        case .superseded: summary.superseded += 1
        case .deferred, .held, .putBack, .quarantined: break
        }
        tell(isSent ? .attempted(event) : .settledUnsent(event))
    }

    /// Counts and reports operations that a dead run has failed or delivered, each once in a run. `events` makes their
    /// events. `write` returns whether all reports of the run are written: until then recovery finds the same again.
    func foundEnded(
        _ ends: [UntoldEnd], events: ([UntoldEnd]) throws(SpoolError) -> [AttemptEvent],
        write: () -> Bool
    ) throws(SpoolError) -> Bool {
        let new = ends.filter { !unwritten.contains($0) }
        for event in new.isEmpty ? [] : try events(new) {
            if event.hasFailed { summary.failed += 1 } else { summary.delivered += 1 }
            if event.record.ruleCode == .expired { summary.expired += 1 }
            tell(.foundEnded(event))
        }
        unwritten.formUnion(new)
        guard write() else { return false }
        unwritten.subtract(ends)
        return true
    }

    // MARK: - The end

    /// Whether the run has a reason to end.
    var hasEnded: Bool { summary.end != .done }

    /// Counts an error with an operation or a file; the others go on. Reports the same error once. A lost lock counts
    /// once and ends the run.
    func inputOutput(_ error: SpoolError) {
        if error.kind == .lostLock {
            if hasLostLock { return }
            hasLostLock = true
            end(.broken(error.description))
        }
        summary.inputOutputErrors += 1
        guard told.insert(error.isFullDisk ? "full disk" : error.description).inserted else { return }
        lastError = error
        tell(.inputOutputError(error))
    }

    /// Ends the run because of an error of the queue directory: nothing more is claimed.
    func endRun(because error: SpoolError) {
        inputOutput(error)
        end(.broken(error.description))
    }

    /// Ends the run, because no delivery agent can be had.
    func agentsFailed(_ reason: String) {
        end(.broken(reason))
        summary.inputOutputErrors += 1
        tell(.agentsFailed(reason))
    }

    /// Records a signal as the end of this run. Returns false if none has come.
    func endIfInterrupted() -> Bool {
        let signal = clock.signals()
        guard signal.count > 0 else { return false }
        end(.signal(signal.last))
        return true
    }

    /// Returns the summary so far, with what stands of the operations that the run has deferred or held.
    func summary(_ operations: OperationBook) -> RunSummary {
        var summary = summary
        (summary.deferred, summary.ambiguous) = (operations.deferredCount, operations.ambiguous.count)
        summary.timeSpent = timeSpent
        summary.timeSpent.end(now: clock.instant())
        summary.duration = elapsed
        return summary
    }

    /// Sets the reason for the end. The first reason stays, but an error replaces every other reason, and a signal
    /// every other but an error: the exit status says the worst.
    func end(_ reason: RunSummary.End) {
        switch (summary.end, reason) {
        case (.done, _): summary.end = reason
        case (.broken, _): break
        case (_, .broken), (_, .signal): summary.end = reason
        case (.paused, _), (.busy, _), (.timeUp, _), (.signal, _): break
        }
    }
}
