/// The exit status of the process, from sysexits(3) if one fits. The cases are in order of precedence, highest first.
package enum ExitStatus: Int32, CaseIterable, Sendable {
    case hungUp = 129
    case interrupted = 130
    case terminated = 143
    case usage = 64
    case configuration = 78
    case noInput = 66
    case permission = 77
    case internalError = 70
    case inputOutput = 74
    case held = 69
    case failed = 1
    case dataInvalid = 65
    case deferred = 75
    case critical = 2
    case unknown = 3
    case ok = 0

    /// Returns the status with the highest precedence of those that apply, `ok` if none does.
    package static func first(of applying: some Sequence<ExitStatus>) -> ExitStatus {
        let applying = Set(applying)
        return allCases.first(where: applying.contains) ?? .ok
    }

    /// The text of the manual for this status.
    package var meaning: String {
        switch self {
        case .hungUp: "SIGHUP ended a wait"
        case .interrupted: "SIGINT ended a wait, or cut off a run as the second signal"
        case .terminated: "SIGTERM ended a wait, or cut off a run as the second signal"
        case .usage: "the command line is not valid; no attempt was made"
        case .configuration: "the configuration is not usable; no attempt was made"
        case .noInput: "there is no such queue, no id on standard input, or no operation that `drainq wait` names"
        case .permission: "no permission to read or write the queue; no attempt was made"
        case .internalError: "a defect in drainq; the work may be incomplete"
        case .inputOutput: "input or output failed (a full disk, or no reader); the other work was done"
        case .held:
            "a destination, or an operation that the command names, is held until a person acts or a credential changes"
        case .failed: "operations failed for good in this run; a warning of `drainq status --check`"
        case .critical:
            "`drainq status --check`: a destination is in trouble, the queue is full, nobody runs it, runs end with an error, or its configuration is broken"
        case .unknown: "`drainq status --check`: it is not known how the queue is"
        case .dataInvalid: "input was not an operation; add and import put it into quarantine, send and --atomic do not"
        case .deferred:
            "an operation was deferred, and a later run attempts it again; `drainq run --until-empty` ended before the queue was empty"
        case .ok:
            "every due operation that the run took (`--limit`) is delivered, no operation was due, or another run works on them"
        }
    }
}
