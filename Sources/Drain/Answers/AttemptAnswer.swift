import Policy

extension RequestError {
    /// The report of the transport that means the same: what becomes of the operation is then for the rules of its
    /// route to say. `nil` for an error that no transport meets.
    var report: AttemptReport? {
        switch self {
        case .unavailable(let error, _): AttemptReport(result: .failure(error, detail: description), duration: .zero)
        case .badBodyFile: AttemptReport(result: .failure(.bodyFileChanged, detail: description), duration: .zero)
        default: nil
        }
    }
}

/// The answer to an attempt, and its meaning for each of the operations.
struct AttemptAnswer {
    var attempt: Attempt
    var report: SealedReport
    var verdict: Verdict
    /// Whether no request could be made, so that nothing was sent.
    var isUnsent = false
    /// Whether the operations behind it in its sequence are sent while it is withheld, as if it had failed. If they
    /// meet the same end, they fail or are put back with it.
    var releasesSequence = false
    /// Whether another operation was delivered while it was withheld. Its failure then does not count towards a storm.
    var isContradicted = false

    /// Whether the server refuses the credentials, or the operation with them.
    var isRefusal: Bool { verdict.accused() == .credentials && verdict.status != nil }
}
