import Policy
import Spool

/// Refusals of credentials: whether the server refuses one operation or all of its destination (`Parking`).
extension AnswerAssessor {
    /// Whether another operation was delivered with the same credentials since this one was refused.
    func isProvenGuilty(_ answer: AttemptAnswer) -> Bool {
        guard answer.attempt.members.count == 1, !answer.attempt.isShared else { return false }
        if answer.attempt.isWitnessed { return true }
        return decisions(on: answer).contains(.fail)
    }

    /// Fails a refused operation, because another one was delivered with the same credentials. Defers any other answer.
    /// Sends operations that were refused together again, each alone, before one of them fails.
    func contradict(_ answer: AttemptAnswer) {
        let (verdict, attempt) = (answer.verdict, answer.attempt)
        guard answer.isRefusal else {
            settler.settle(answer, as: verdict.becoming(.deferred, rule: .contradicted(verdict.rule, .deferred)))
            return
        }
        if attempt.isMerged { return sendApart(attempt) }
        if attempt.isShared || attempt.members.count > 1 {
            for member in attempt.members {
                var alone = attempt
                (alone.members, alone.isShared, alone.isSample, alone.isWitnessed) = ([member], false, false, true)
                queue.enqueueAgain(alone)
            }
            return
        }
        settler.settle(answer, as: verdict.becoming(.failed, rule: .contradicted(verdict.rule, .failed)))
    }

    /// Settles an answer for which this run has no witness. Parks the operations of a refusal. Holds the destination
    /// for any other answer, and for a refusal that confirms an earlier one.
    ///
    /// In strict order no operation behind a refused one may be its witness, so the destination is held.
    func conclude(_ answer: AttemptAnswer) {
        let destination = answer.attempt.destination
        let isStrict = answer.attempt.route.ordering == .strict
        guard answer.isRefusal, !isStrict, !decisions(on: answer).contains(.hold), destination.block?.reason != .held
        else { return hold(destination, answer) }
        // The submitter of a refused operation is told; its refusal counts for the next operation all the same.
        let verdict =
            settler.hasSubmitter
            ? answer.verdict.becoming(.failed, rule: .refusedAlone(answer.verdict.rule))
            : answer.verdict.becoming(.held, rule: .parked(answer.verdict.rule))
        let settlements = settler.settle(answer, as: verdict)
        for (refusal, settlement) in zip(refusals(of: answer), settlements) {
            settler.park(refusal, destination, settlement.record)
        }
    }

    /// Removes one operation from a refused batch and sends it alone, as a witness for the others.
    func askOne(of answer: inout AttemptAnswer) {
        var alone = answer.attempt
        alone.members = [answer.attempt.members.removeLast()]
        (alone.isShared, alone.isSample) = (false, true)
        answer.attempt.isShared = true
        queue.enqueueAgain(alone)
    }

    private func decisions(on answer: AttemptAnswer) -> [Parking.Decision] {
        let parking = answer.attempt.destination.state.parking
        return parking.isEmpty ? [] : refusals(of: answer).map { parking.decision(on: $0) }
    }

    private func refusals(of answer: AttemptAnswer) -> [Parking.Refusal] {
        let attempt = answer.attempt
        let blamed = book.fingerprint(of: attempt.destination)
        return attempt.members.map { member in
            Parking.Refusal(
                id: member.name.id, status: answer.verdict.status ?? 0, credentials: attempt.maker.credentialNames,
                blamed: blamed)
        }
    }
}
