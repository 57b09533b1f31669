import Policy
import Spool

/// What a run comes to, and what it tells as it happens.
final class RunTally {
    var summary: RunSummary
    /// The queue's lock on this run has been lost: others may be at what it had claimed.
    private(set) var hasLostHold = false
    private var isFullDiskTold = false
    private let report: (RunEvent) -> Void

    init(startedAt: Timestamp, report: @escaping (RunEvent) -> Void) {
        summary = RunSummary(startedAt: startedAt)
        self.report = report
    }

    func tell(_ event: RunEvent) { report(event) }

    /// Counts what dead runs had claimed.
    func count(_ recovery: Recovery) {
        summary.recovered = recovery.returned.count
        summary.quarantined += recovery.quarantined.count
        for error in recovery.errors { inputOutput(error) }
        if !recovery.returned.isEmpty || !recovery.quarantined.isEmpty { tell(.recovered(recovery)) }
    }

    func quarantined(_ item: QuarantineItem) {
        summary.quarantined += 1
        tell(.quarantined(item))
    }

    /// Counts an operation or a file that could not be dealt with; the others go on. A full disk is told once; so is a lost
    /// hold, which ends the run.
    func inputOutput(_ error: SpoolError) {
        if error.kind == .lostHold {
            if hasLostHold { return }
            hasLostHold = true
            if summary.end == .done { summary.end = .broken(error.description) }
        }
        summary.inputOutputErrors += 1
        if error.isFullDisk {
            if isFullDiskTold { return }
            isFullDiskTold = true
        }
        tell(.inputOutputError(error))
    }

    /// Ends the run: the directory does not do what it must, so nothing more is claimed.
    func broken(_ error: SpoolError) {
        inputOutput(error)
        if summary.end == .done { summary.end = .broken(error.description) }
    }

    /// Ends the run: no delivery agent can be had.
    func agentsFailed(_ reason: String) {
        if summary.end == .done { summary.end = .broken(reason) }
        summary.inputOutputErrors += 1
        tell(.agentsFailed(reason))
    }

    /// Notes a signal as the end of this run.
    func interrupted() -> Bool {
        let signal = Interruption.received
        guard signal.count > 0 else { return false }
        summary.end = .signal(signal.last)
        return true
    }
}
