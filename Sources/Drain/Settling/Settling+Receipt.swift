import Policy
import Spool

/// The receipts of operations that an answer delivers, and what becomes of each operation of an answer.
extension Settling {
    /// Makes the receipts of all operations that these answers to one request deliver, before the first of their files
    /// is removed or moved.
    mutating func receive(_ answers: [AttemptAnswer]) {
        let now = world.now()
        for answer in answers where answer.verdict.outcome == .delivered {
            for member in answer.attempt.members where receipts[member.name.id] == nil {
                var settlement = settlement(of: member, answer, as: answer.verdict, at: now, using: chance)
                // try?: the operation's own settling meets the error again.
                receipts[member.name.id] = try? receipt(for: member, &settlement, answer.attempt)
            }
        }
    }

    /// Returns the receipt for an operation and its parts, which are marked before anything follows from the delivery;
    /// `nil` if the operation is not delivered, or has no file.
    func receipt(
        for member: Member, _ settlement: inout Settlement, _ attempt: Attempt
    ) throws(SpoolError) -> Receipt? {
        guard case .delivered(let keep) = settlement.disposition, let request = attempt.request,
            let claim = member.claim
        else { return nil }
        if !settlement.kept.isEmpty, let chain = attempt.maker.route.chainOrNone(of: member.operation) {
            settlement.record.kept = ChainValues(chain: chain, kept: settlement.kept)
        }
        var deliveries = [(claim: claim, record: settlement.record)]
        if !member.parts.isEmpty {
            let record = ofPart(of: member, settlement).record
            deliveries.insert(contentsOf: member.parts.map { ($0.claim, record) }, at: 0)
        }
        return try spoolRun.receipt(of: request, for: deliveries, keep: keep)
    }

    /// Decides what becomes of an operation. No copy is kept for a submitter.
    func settlement(
        of member: Member, _ answer: AttemptAnswer, as verdict: Verdict, at now: Timestamp,
        using chance: SharedGenerator
    ) -> Settlement {
        let attempt = answer.attempt
        var settlement = attempt.maker.settlement(
            of: member, answer, as: verdict, keepsDelivered: configuration.retention.delivered > .zero, at: now,
            using: chance)
        if answer.isUnsent { settlement.record.error = nil }
        if hasSubmitter, case .delivered = settlement.disposition { settlement.disposition = .delivered(keep: false) }
        return settlement
    }

    /// Returns what becomes of the parts of a member that leaves the queue.
    func ofPart(of member: Member, _ settlement: Settlement) -> Settlement {
        var own = settlement
        own.kept = .none
        own.record.kept = nil
        own.record.addToRule("; merged into '\(member.name.id)'")
        if case .failed = settlement.disposition { own.disposition = .failed(countsAttempt: false) }
        return own
    }
}
