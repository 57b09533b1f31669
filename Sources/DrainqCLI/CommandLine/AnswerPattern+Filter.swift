import Policy

/// The answers that `--status` filters by: everything that `classify` names.
extension AnswerPattern {
    func matches(_ record: AttemptRecord) -> Bool {
        switch self {
        case .statuses(let range): record.status.map(range.contains) ?? false
        case .error(let error): record.error == error.rawValue
        case .canonical(let status): record.error == status.rawValue
        }
    }
}
