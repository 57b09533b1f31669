import Drain
import Policy
import Spool

/// The log of a run for programs. Writes an object for each event to standard error, and a summary at the end.
struct RunLog {
    /// Whether the log has only errors and warnings.
    let isQuiet: Bool

    func take(_ event: RunEvent) {
        switch event {
        case .chosen: break
        case .attempted(let attempt), .settledUnsent(let attempt): write(AttemptView(attempt), attempt.level)
        case .quarantined(let item): write(QuarantineView(item), .error)
        case .destinationHeld(let destination, let record, _): write(HeldView(destination, record), .error)
        case .holdEnded(let destination): write(ReleasedView(destination: destination), .notice)
        case .parked(let id, let destination, _, let times):
            write(MessageView(message: "'\(destination)' refuses '\(id)': parked"), times == 2 ? .warning : .notice)
        case .networkAbsent(let absence, let isNew):
            write(MessageView(message: absence.description), isNew ? .warning : .notice)
        case .superseded(let name, let newer, let destination):
            write(SupersededView(name, by: newer, destination), .info)
        case .notKept(let id, let name, let reason):
            write(MessageView(message: notKeptMessage(id, name, reason)), .warning)
        case .evicted(let name): write(MessageView(message: evictedMessage(name)), .warning)
        case .recovered(let recovery):
            for item in recovery.quarantined { write(QuarantineView(item), .error) }
            for entry in recovery.returned { write(RecoveredView(entry), .warning) }
        case .stopping(let inFlight, _):
            write(MessageView(message: "stopping: \(InWords.count(inFlight, "attempt")) in flight"), .notice)
        case .inputOutputError(let error): write(MessageView(message: error.description, hint: error.hint), .error)
        case .agentsFailed(let reason): write(MessageView(message: reason), .error)
        }
    }

    func finish(_ summary: SummaryView) {
        write(summary, .notice)
    }

    private func write(_ event: some Encodable, _ level: Messages.Level) {
        if !isQuiet || level.rawValue <= Messages.Level.warning.rawValue { Messages.log(event, level) }
    }
}

/// Returns the message about an answer without a value that its route keeps.
func notKeptMessage(_ id: OperationID, _ name: String, _ reason: KeepError) -> String {
    "cannot keep '\(name)' for the key of '\(id)': \(reason)"
}

extension AttemptEvent {
    var level: Messages.Level {
        if hasFailed { return .error }
        switch record.outcome {
        case .delivered: return .info
        case .deferred, .held, .failed: return .notice
        }
    }
}
