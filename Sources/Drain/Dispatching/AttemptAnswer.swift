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

/// The end of an attempt of this run.
typealias AttemptAnswer = AttemptEnd

extension AttemptAnswer {
    convenience init(attempt: Attempt, report: SealedReport, verdict: Verdict) {
        self.init(ownAttempt: attempt, facts: attempt.facts, report: report, verdict: verdict)
    }

    var attempt: Attempt { ownAttempt as! Attempt }
}

extension Attempt {
    /// The parts of the attempt by which the control of its destination decides.
    fileprivate var facts: AttemptAnswer.Facts {
        var facts = AttemptAnswer.Facts(
            operations: members.map { Age($0.name) }, route: maker.sharedRoute, credentials: credentials, began: began)
        facts.start = start
        (facts.isSample, facts.isProbe, facts.witnessed) = (isSample, isProbe, witnessed)
        (facts.isShared, facts.isMerged) = (isShared, isMerged)
        return facts
    }
}
