import Policy

/// The answers that `--status` filters by: everything that `classify` names.
extension AnswerPattern {
    func matches(_ record: AttemptRecord) -> Bool {
        matches(Cause(status: record.status, error: record.error))
    }

    func matches(_ cause: Cause) -> Bool {
        switch self {
        case .statuses(let range): cause.status.map(range.contains) ?? false
        case .error(let error): cause.error == error.rawValue
        case .canonical(let status): cause.error == status.rawValue
        }
    }
}
