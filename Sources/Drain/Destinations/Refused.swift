import Policy

/// A refusal of credentials, with its times.
struct Refused {
    let credentials: String
    /// The start of the refused attempt, and the time of its answer.
    let began: Timestamp
    let answered: Timestamp

    /// Whether a delivery by this attempt shows that the credentials are good. If it began before the refusal came,
    /// they may have been revoked in between, unless one answer contained both.
    func isContradicted(by attempt: Attempt) -> Bool {
        attempt.began >= answered || attempt.isShared && attempt.began == began
    }
}
