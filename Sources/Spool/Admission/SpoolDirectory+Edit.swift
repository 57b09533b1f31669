import CSystem
import Policy

/// Replacement of an operation by an edited one (`import --replace`).
extension SpoolDirectory {
    /// Returns an operation that takes the place of `old`, with the idempotency key by which its server is to know it.
    ///
    /// A server that has seen the key of a request takes a later request under the key for its repetition, and does not
    /// apply it. So a replacement with another body, url or method gets a key of its own, unless it is certain that no
    /// request of the old operation has begun, or unless the submitter gives a key of their own.
    func keyed(_ submission: Submission, replacing old: Entry) throws(SpoolError) -> Submission {
        let edit = OperationHeader.Edit(
            attempts: submission.recordCount, interruptions: old.name.interruptions, unknowns: old.name.unknowns)
        guard case .operation(let stored)? = try read(old) else { return submission.keyed(ownKey(), edit) }
        let (before, after) = (stored.operation.header, submission.header)
        let isSame =
            before.$url == after.$url && before.$method == after.$method
            && hasSameFile(before.bodyFile, after.bodyFile) && stored.operation.body == submission.operation.body
        let isFirst = if isSame { true } else { try isUntouched(old, stored) }
        let given = after.idempotencyKey
        let isGiven = given != nil && after.$idempotencyKey != before.$idempotencyKey && !after.hasKeyOfEdit
        // The export may be from before an earlier edit, and lack its key.
        let kept = isGiven || !before.hasKeyOfEdit && !after.hasKeyOfEdit ? given : before.idempotencyKey
        if isFirst {
            let earlier = before.edited.map {
                OperationHeader.Edit(
                    attempts: min($0.attempts, edit.attempts), interruptions: $0.interruptions, unknowns: $0.unknowns)
            }
            return submission.keyed(kept, earlier)
        }
        return submission.keyed(isGiven ? given : ownKey(), edit)
    }

    private func hasSameFile(_ before: BodyFile?, _ after: BodyFile?) -> Bool {
        guard let before, let after else { return before == after }
        return before.hasContent(of: after)
    }

    private func ownKey() -> String {
        var generator = system.generator
        return "\(OperationHeader.keyOfEdit)\(OperationID.random(using: &generator))"
    }

    /// Whether it is certain that no run has claimed an operation since its file was written: no run is at work, and
    /// none has begun or ended since then. A run leaves a mark in its directory as it begins and ends.
    private func isUntouched(_ entry: Entry, _ stored: StoredOperation) throws(SpoolError) -> Bool {
        let (name, claimed) = (entry.name, QueueState.claimed.path)
        if case .retryAt = name.gate { return false }
        guard entry.state == .new, name.attempts == 0, name.interruptions == 0, name.unknowns == 0,
            stored.operation.attempts.isEmpty,
            try names(in: claimed).isEmpty, let status = try status(claimed, "look at")
        else { return false }
        // Equal times are of one tick of the clock: no request fits into it. The rename into new/ comes after the
        // content, so an earlier one says that the clock has been set back: then times prove nothing.
        return status.modifiedNanoseconds <= stored.status.modifiedNanoseconds
            && stored.status.changedAt >= stored.status.modifiedAt
    }
}
