/// The guard over answers that would hold a destination: asks one other operation first.
struct HoldGuard {
    /// The first refusal of credentials, or the first failure of a route's command, with its time.
    struct Refused {
        let end: AttemptEnd
        let answered: Timestamp

        /// Whether a delivery by this attempt shows that the credentials are good. An attempt from before the refusal
        /// shows nothing, because they may have been revoked since, unless one answer contained both or one is unsent.
        func isContradicted(by facts: AttemptEnd.Facts) -> Bool {
            end.isUnsent || facts.began >= answered || facts.isShared && facts.began == end.facts.began
        }
    }

    private(set) var storm = StormGuard<AttemptEnd>(threshold: 1, enough: 1)
    /// `nil` if the answers refuse something else than credentials.
    let refused: Refused?

    init(beginningWith refused: Refused?) { self.refused = refused }

    /// Takes the next answer. An attempt with other credentials proves nothing about the refused ones.
    mutating func take(_ end: AttemptEnd, _ answer: StormGuard<AttemptEnd>.Answer) -> StormGuard<AttemptEnd>.Step {
        var answer = answer
        if let refused {
            let isOthers = refused.end.facts.credentials != end.facts.credentials
            if isOthers || answer == .delivered && !refused.isContradicted(by: end.facts) { answer = .other }
        }
        return storm.take(end, answer, isSample: end.facts.isSample)
    }

    mutating func concludeAlone() -> StormGuard<AttemptEnd>.Step { storm.concludeAlone() }
}
