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
}
