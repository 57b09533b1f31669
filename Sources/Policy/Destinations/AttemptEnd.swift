/// The end of an attempt, as seen by the control of its destination. `Attempt` is the run's own value, which the
/// control returns.
package struct AttemptEnd<Attempt> {
    /// The parts of an attempt that decide.
    package struct Facts {
        /// The operations of the request.
        package var ids: [OperationID]
        package let route: Shared<Route>
        /// The names of its credentials, see `Parking.Entry`.
        package var credentials: String
        package var began: Timestamp
        /// The start of its measurement; `nil` if the concurrency does not adapt.
        package var start: AdaptiveConcurrency.Start?
        /// Whether the attempt tests whether other operations fail the same way.
        package var isSample = false
        /// Whether the attempt probes a held destination.
        package var isProbe = false
        /// Whether another operation was delivered with the same credentials. If refused again, this operation fails.
        package var isWitnessed = false
        /// Whether its request also carried other operations.
        package var isShared = false
        /// Whether its request carries the changes of several operations of one key.
        package var isMerged = false

        package init(ids: [OperationID], route: Shared<Route>, credentials: String, began: Timestamp) {
            self.ids = ids
            self.route = route
            self.credentials = credentials
            self.began = began
        }
    }

    private let shared: Shared<Attempt>
    package var facts: Facts
    package var report: SealedReport
    package var verdict: Verdict
    /// Whether no request could be made, so that nothing was sent.
    package var isUnsent = false
    /// Whether the next operations of the sequence are sent while the end is withheld, as if the operation had failed.
    /// If they meet the same end, they fail or are put back with it.
    package var releasesSequence = false
    /// Whether another operation was delivered while the end was withheld. The failure then does not count towards a
    /// storm.
    package var isContradicted = false

    package init(attempt: Attempt, facts: Facts, report: SealedReport, verdict: Verdict) {
        shared = Shared(attempt)
        self.facts = facts
        self.report = report
        self.verdict = verdict
    }

    package var attempt: Attempt { shared.value }

    /// Whether the server refuses the credentials, or the operation with them.
    package var isRefusal: Bool { verdict.accused() == .credentials && verdict.status != nil }

    /// The status that counts towards a storm if the operation fails now; `nil` if the failure does not count.
    package var stormStatus: Int? {
        guard !isContradicted, case .permanent(let status)? = StormGuard<Void>.Answer(verdict) else { return nil }
        return status
    }
}
