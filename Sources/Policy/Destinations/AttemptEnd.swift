/// The end of an attempt, as seen by the control of its destination, which hands the end back to the run.
package final class AttemptEnd {
    /// The parts of an attempt that decide.
    package struct Facts {
        /// The operations of the request.
        package var operations: [Age]
        package let route: Shared<Route>
        /// The credentials in its request.
        package var credentials: RequestCredentials
        package var began: Timestamp
        /// The start of its measurement; `nil` if the concurrency does not adapt.
        package var start: AdaptiveConcurrency.Start?
        /// Whether the attempt tests whether other operations fail the same way.
        package var isSample = false
        /// Whether the attempt probes a held destination.
        package var isProbe = false
        /// The credentials with which this operation was refused and another one delivered. If refused with them again,
        /// this operation fails.
        package var witnessed: RequestCredentials?
        /// Whether its request also carried other operations.
        package var isShared = false
        /// Whether its request carries the changes of several operations of one key.
        package var isMerged = false

        package init(operations: [Age], route: Shared<Route>, credentials: RequestCredentials, began: Timestamp) {
            self.operations = operations
            self.route = route
            self.credentials = credentials
            self.began = began
        }
    }

    /// The run's own attempt, of which the control knows the facts.
    package let ownAttempt: AnyObject
    package let facts: Facts
    package let report: SealedReport
    package let verdict: Verdict
    /// Whether no request could be made, so that nothing was sent.
    package var isUnsent = false
    /// Whether the next operations of the sequence are sent while the end is withheld, as if the operation had failed.
    /// If they meet the same end, they fail or are put back with it.
    package var releasesSequence = false
    /// Whether another operation was delivered while the end was withheld, or out of the same batch. A failure is then
    /// this operation's own, and does not count towards a storm.
    package var isContradicted = false

    package init(ownAttempt: AnyObject, facts: Facts, report: SealedReport, verdict: Verdict) {
        self.ownAttempt = ownAttempt
        self.facts = facts
        self.report = report
        self.verdict = verdict
    }

    /// Whether the server refuses the credentials, or the operation with them.
    package var isRefusal: Bool { verdict.accused() == .credentials && verdict.status != nil }

    /// The status that counts towards a storm if the operation fails now; `nil` if the failure does not count.
    package var stormStatus: Int? {
        guard !isContradicted, case .permanent(let status)? = StormGuard<Void>.Answer(verdict) else { return nil }
        return status
    }
}

extension Incident {
    /// Makes the incident of one attempt, whoever is to blame; `nil` if it was a delivery, if the operation has no
    /// request, or if this machine has no network, which is known beside the destinations.
    package init?(_ end: AttemptEnd, at now: Timestamp) {
        let verdict = end.verdict
        if verdict.outcome == .delivered || verdict.absence != nil { return nil }
        if verdict.accused() == .operation, verdict.status == nil { return nil }
        self.init(since: now, last: now, cause: Cause(verdict, end.report))
        failedAll = verdict.outcome == .failed
    }
}
