import Policy

/// Replacement of an operation by an edited one (`import --replace`).
extension SpoolDirectory {
    /// Returns an operation that takes the place of `old`, with the idempotency key by which its server is to know it.
    ///
    /// A server that has seen the key of a request takes a later request under the key for its repetition, and does not
    /// apply it. So a replacement with another body, url or method gets a key of its own, unless the submitter gives
    /// another. Nothing says for certain that no request of the old operation has begun: a run that puts an operation
    /// back leaves no mark in its name or file, and a run may send it until its claim for the replacement.
    func keyed(_ submission: Submission, replacing old: Entry) throws(SpoolError) -> Submission {
        let edit = OperationHeader.Edit(
            attempts: submission.recordCount, interruptions: old.name.interruptions, unknowns: old.name.unknowns)
        guard case .operation(let stored)? = try read(old) else { return submission.keyed(ownKey(), edit) }
        let (before, after) = (stored.operation.header, submission.header)
        let isSame =
            before.$url == after.$url && before.$method == after.$method
            && hasSameFile(before.bodyFile, after.bodyFile) && stored.operation.body == submission.operation.body
        let given = after.idempotencyKey
        let isGiven = given != nil && after.$idempotencyKey != before.$idempotencyKey && !after.hasKeyOfEdit
        if !isSame { return submission.keyed(isGiven ? given : ownKey(), edit) }
        // The export may be from before an earlier edit, and lack its key.
        let kept = isGiven || !before.hasKeyOfEdit && !after.hasKeyOfEdit ? given : before.idempotencyKey
        let earlier = before.edited.map {
            OperationHeader.Edit(
                attempts: min($0.attempts, edit.attempts), interruptions: $0.interruptions, unknowns: $0.unknowns)
        }
        return submission.keyed(kept, earlier)
    }

    private func hasSameFile(_ before: BodyFile?, _ after: BodyFile?) -> Bool {
        guard let before, let after else { return before == after }
        return before.hasContent(of: after)
    }

    private func ownKey() -> String {
        var generator = system.generator
        return "\(OperationHeader.keyOfEdit)\(OperationID.random(using: &generator))"
    }
}
