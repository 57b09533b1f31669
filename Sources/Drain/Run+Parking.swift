import Delivery
import Policy
import Spool

/// Refusals of credentials: whether one operation or all of its destination are refused (`Parking`).
extension Run {
    /// Whether another operation has been delivered with the same credentials since this one was parked.
    func isProvenGuilty(_ answer: Withheld) -> Bool {
        guard answer.flight.members.count == 1, !answer.flight.isShared else { return false }
        if answer.flight.isWitnessed { return true }
        return decisions(on: answer).contains(.fail)
    }

    /// The same credentials have delivered another operation: this one alone is refused. One that was refused with others
    /// in its request is asked alone before that.
    func contradict(_ answer: Withheld, _ round: inout Round, _ claims: SpoolRun) {
        let (verdict, flight) = (answer.verdict, answer.flight)
        guard answer.isRefusal else {
            settle(
                answer, as: verdict.becoming(.deferred, rule: .contradicted(verdict.rule, .deferred)), &round, claims)
            return
        }
        if flight.isMerged { return unmerge(flight, &round, claims) }
        if flight.isShared || flight.members.count > 1 {
            for member in flight.members {
                var alone = flight
                (alone.members, alone.isShared, alone.isSample, alone.isWitnessed) = ([member], false, false, true)
                sendAgain(alone)
            }
            return
        }
        settle(answer, as: verdict.becoming(.failed, rule: .contradicted(verdict.rule, .failed)), &round, claims)
    }

    /// Nothing else could be asked in this run. A refusal parks its operations, unless another one was refused alike before;
    /// any other answer holds the destination.
    ///
    /// Where the destination is kept strictly in order nothing behind a refused operation may be its witness.
    func conclude(_ answer: Withheld, _ round: inout Round, _ claims: SpoolRun) {
        let lane = answer.flight.lane
        let isStrict = answer.flight.route.ordering == .strict
        guard answer.isRefusal, !isStrict, !decisions(on: answer).contains(.hold), lane.block?.reason != .held else {
            return hold(lane, answer, &round, claims)
        }
        let rule = Rule.parked(answer.verdict.rule)
        let settlements = settle(answer, as: answer.verdict.becoming(.held, rule: rule), &round, claims)
        for (refusal, settlement) in zip(refusals(of: answer), settlements) {
            book.note(.parked(refusal), in: lane, at: world.now())
            waiting.insert(refusal.id)
            tally.tell(
                .parked(
                    refusal.id, destination: lane.destination.name, record: settlement.record,
                    times: lane.state.parking[refusal.id]?.times ?? 1))
        }
    }

    /// Takes one out of a refused batch, to be asked alone: its witness.
    func askOne(of answer: inout Withheld) {
        var alone = answer.flight
        alone.members = [answer.flight.members.removeLast()]
        (alone.isShared, alone.isSample) = (false, true)
        answer.flight.isShared = true
        sendAgain(alone)
    }

    /// A delivery is the witness of what is parked.
    func witness(_ flight: Flight, _ now: Timestamp) {
        let lane = flight.lane
        if lane.state.parking.isEmpty { return }
        for member in flight.members { book.unpark(member.claim.name.id, lane) }
        book.note(.witnessed(credentials: flight.maker.credentialNames), in: lane, at: now)
    }

    private func decisions(on answer: Withheld) -> [Parking.Decision] {
        let parking = answer.flight.lane.state.parking
        return parking.isEmpty ? [] : refusals(of: answer).map { parking.decision(on: $0) }
    }

    private func refusals(of answer: Withheld) -> [Parking.Refusal] {
        let flight = answer.flight
        let blamed = book.fingerprint(of: flight.lane.destination)
        return flight.members.map { member in
            Parking.Refusal(
                id: member.claim.name.id, status: answer.verdict.status ?? 0, credentials: flight.maker.credentialNames,
                blamed: blamed)
        }
    }
}

extension Withheld {
    /// The server refuses the credentials, or the operation with them.
    var isRefusal: Bool { verdict.accused() == .credentials && verdict.status != nil }
}
