import Policy
import Spool

/// Operations of a sequence whose permanent answers the storm guard withholds. The operations behind them go on as if
/// they had failed, and so they have on the disk: no run sends one of them after its successor. If the guard holds the
/// destination instead, they come back.
extension Settling {
    /// Row C → X: fails the operations of a withheld answer that have an order, before the operations behind them go
    /// on. A death of the run leaves them failed, so none of them is sent after its successor. Returns what became of
    /// each.
    mutating func release(_ answer: AttemptAnswer) -> [Settlement] {
        let attempt = answer.attempt
        return attempt.members.map { member in
            var settlement = settlement(
                of: member, answer, as: answer.verdict, at: world.now(), using: chance)
            // The storm guard may still find that the operation is not to blame.
            settlement.record.counted = false
            guard let claim = member.claim, let sequence = member.sequence, !hasSubmitter,
                continues(sequence, of: member.name.type, after: settlement.disposition)
            else {
                settlement.disposition = .putBack
                return settlement
            }
            do throws(SpoolError) {
                let settled = try spoolRun.withhold(disposal(of: claim, settlement, nil), now: world.now())
                released[member.name.id] = Decision(
                    settlement: settlement, member: member, attempt: attempt, isSent: true, receipt: nil,
                    settled: settled, stormStatus: answer.stormStatus)
            } catch {
                setAside(member, error)
                settlement.disposition = .putBack
            }
            return settlement
        }
    }

    /// Row X → C: takes back an operation that `release` has failed, if its verdict is another one, or if a newer value
    /// supersedes it. Returns false if it stays failed, or is not there any more: an operator's command may have moved
    /// it.
    mutating func takeBack(_ failed: Decision, _ settlement: Settlement) -> Bool {
        do throws(SpoolError) {
            var stays = false
            if case .failed = settlement.disposition { stays = try !lookForSuccessor(of: failed.member.name) }
            if !stays, case .moved(let entry)? = failed.settled, let claim = failed.member.claim,
                try spoolRun.takeBack(entry, as: claim, patience: QueueView.patience)
            {
                return true
            }
        } catch {
            // After an error the file may be in the run's directory: the next recovery moves it back, as its mark says.
            endRunUnlessPassing(error)
        }
        fail(failed)
        return false
    }

    /// Whether an operation of its sequence has had an effect, or may have had one, since `release` has failed this
    /// one.
    func isOvertaken(_ id: OperationID) -> Bool { released[id]?.isOvertaken ?? false }

    /// Notes the effect of an operation, which stood behind all of its sequence that `release` has failed.
    mutating func noteOvertaken(by member: Member, _ settlement: Settlement) {
        let isDelivered = if case .delivered = settlement.disposition { true } else { false }
        guard isDelivered || settlement.record.leavesDoubt, let sequence = member.sequence else { return }
        for (id, failed) in released where failed.member.sequence == sequence { released[id]?.isOvertaken = true }
    }

    private mutating func lookForSuccessor(of name: EntryName) throws(SpoolError) -> Bool {
        guard let newer = try proposals.newer(than: name, by: rule) else { return false }
        return spool.successor(named: newer, rule) != nil
    }

    /// Whether an operator's command has moved a failed operation, which then is in the queue all the same.
    private func isElsewhere(_ failed: Decision) throws(SpoolError) -> Bool {
        guard case .moved(let entry)? = failed.settled, try spool.size(of: entry) == nil else { return false }
        return try spool.withNamesLock(patience: QueueView.patience) { () throws(SpoolError) in
            try spool.find([entry.name.id])[entry.name.id] != nil
        }
    }

    /// Counts and reports a failure that `release` has brought to the disk and that no verdict takes back.
    private mutating func fail(_ failed: Decision) {
        if let claim = failed.member.claim { spoolRun.endWithholding(claim) }
        do throws(SpoolError) {
            if try isElsewhere(failed) { return }
        } catch {
            tally.inputOutput(error)
        }
        note(failed.settlement, failed.member, failed.attempt)
        tell(failed.settled, failed.settlement, failed.member, failed.attempt, isSent: true)
        if let status = failed.stormStatus {
            book.apply(.failed(status: status, failed.member.name.id), to: failed.attempt.destination, at: world.now())
        }
    }
}
