import Delivery
import Policy

extension Attempt {
    /// The meaning of a report for the operations of an attempt.
    struct Meaning {
        /// The verdict on the answer as a whole. It counts only if `each` is `nil`.
        var together: Verdict
        /// The verdict on each operation, in the attempt's order; `nil` if the answer has no result for each.
        var each: [Verdict]?

        /// Whether fresh secrets may help all of them.
        var mayNeedFreshSecrets: Bool { each?.allSatisfy(\.mayNeedFreshSecrets) ?? together.mayNeedFreshSecrets }
    }

    /// Returns what a report means. `absence`: why this machine has no network, if that made the attempt fail.
    func meaning(of report: SealedReport, _ absence: NetworkAbsence?, at now: Timestamp) -> Meaning {
        let repeated = maker.route.answers.contains(where: \.content.isAfterUnknown) ? repeated : []
        var together = maker.verdict(on: report, mayHaveArrived: repeated.count == members.count, at: now)
        if let absence { together = together.excused(by: absence, route: maker.route) }
        let each = maker.route.batch?.verdicts(
            on: report, members: members.map(\.operation.header.id), repeated: repeated, route: maker.route, now: now)
        return Meaning(together: together, each: each)
    }

    /// Returns why this machine has no network, if that made the attempt fail; else `nil`.
    func absence(behind report: AttemptReport, _ world: World) -> NetworkAbsence? {
        report.error.flatMap { world.absence(behind: $0, of: destination.identity, destination.settings) }
    }
}

extension AttemptReport {
    /// The answer's body; `nil` if it is cut, empty if there was no answer.
    var wholeBody: [UInt8]? {
        guard case .answer(let answer) = result else { return [] }
        return answer.isCut ? nil : answer.body
    }
}
