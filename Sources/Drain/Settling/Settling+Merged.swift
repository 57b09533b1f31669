import Policy
import Spool

/// Settling of merged documents: what becomes of the operations whose changes the request of a newer one carried.
extension Settling {
    /// Row C → N or D: puts operations back, uncharged. From now on this run sends the operations of their keys singly,
    /// in order. If an answer has refused their document, the file of the newest records it.
    mutating func sendApart(
        _ members: [Member], _ destination: RunDestination, refusedBy answer: AttemptAnswer?
    ) throws(SpoolError) {
        for member in members {
            let order = configuration.route(of: member.name.type).order
            if let group = order.group(of: member.name, to: destination.identity) { operations.apart.insert(group) }
            guard let answer, let claim = member.claim else {
                try putBack(member)
                continue
            }
            let refused = answer.verdict.becoming(.failed, rule: answer.verdict.rule)
            let settlement = settlement(of: member, answer, as: refused, at: world.now(), using: chance)
            try settleParts(of: member, settlement, answer.attempt, nil)
            _ = try spoolRun.settle(claim, .putBack, record: settlement.record, now: world.now())
        }
        hasToListAgain = true
    }

    /// Row C → gone, K or X, or back to N and D: settles the parts of a member like the member itself. Parts that leave
    /// the queue do so durably before the member.
    mutating func settleParts(
        of member: Member, _ settlement: Settlement, _ attempt: Attempt, _ receipt: Receipt?
    ) throws(SpoolError) {
        if member.parts.isEmpty { return }
        switch settlement.disposition {
        case .delivered, .failed: break
        case .deferred, .putBack, .held, .superseded, .quarantined:
            for part in member.parts {
                // The record is the newest part's alone.
                if settlement.record.leavesDoubt { part.claim.noteUnknownEnd() }
                try putBack(part.claim)
            }
            return
        }
        let own = ofPart(of: member, settlement)
        for part in member.parts {
            try apply(own, Member(claim: part.claim, operation: part.operation), attempt, isSent: true, receipt)
        }
        try sync()
    }
}
