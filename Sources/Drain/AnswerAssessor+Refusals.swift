import Policy
import Spool

/// Refusals of credentials: whether one operation or all of its destination are refused (`Parking`).
extension AnswerAssessor {
    /// Whether another operation has been delivered with the same credentials since this one was parked.
    func isProvenGuilty(_ answer: AttemptAnswer) -> Bool {
        guard answer.attempt.members.count == 1, !answer.attempt.isShared else { return false }
        if answer.attempt.isWitnessed { return true }
        return decisions(on: answer).contains(.fail)
    }

    /// The same credentials have delivered another operation: this one alone is refused. One that was refused with others
    /// in its request is asked alone before that.
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
                queue.sendAgain(alone)
            }
            return
        }
        settler.settle(answer, as: verdict.becoming(.failed, rule: .contradicted(verdict.rule, .failed)))
    }

    /// Nothing else could be asked in this run. A refusal parks its operations, unless another one was refused alike before;
    /// any other answer holds the destination.
    ///
    /// Where the destination is kept strictly in order nothing behind a refused operation may be its witness.
    func conclude(_ answer: AttemptAnswer) {
        let destination = answer.attempt.destination
        let isStrict = answer.attempt.route.ordering == .strict
        guard answer.isRefusal, !isStrict, !decisions(on: answer).contains(.hold), destination.block?.reason != .held
        else { return hold(destination, answer) }
        let rule = Rule.parked(answer.verdict.rule)
        let settlements = settler.settle(answer, as: answer.verdict.becoming(.held, rule: rule))
        for (refusal, settlement) in zip(refusals(of: answer), settlements) {
            settler.park(refusal, destination, settlement.record)
        }
    }

    /// Takes one out of a refused batch, to be asked alone: its witness.
    func askOne(of answer: inout AttemptAnswer) {
        var alone = answer.attempt
        alone.members = [answer.attempt.members.removeLast()]
        (alone.isShared, alone.isSample) = (false, true)
        answer.attempt.isShared = true
        queue.sendAgain(alone)
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
