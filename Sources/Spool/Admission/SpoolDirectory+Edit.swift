import Policy

/// Replacement of an operation by an edited one (`import --replace`).
extension SpoolDirectory {
    /// Returns an operation that takes the place of `old`, with the idempotency key by which its server is to know it,
    /// and the bytes of the file that it replaces; `nil` if that file is gone. What the submitter may edit are the
    /// header and the body. The records of attempts stay those of the queue: a run may have made attempts since the
    /// export.
    ///
    /// A server that has seen the key of a request takes a later request under the key for its repetition, and does not
    /// apply it. So a replacement with another body, url or method gets a key of its own, unless the submitter gives
    /// another. Nothing says for certain that no request of the old operation has begun: a run that puts an operation
    /// back leaves no mark in its name or file, and a run may send it until its claim for the replacement.
    func edit(_ submission: Submission, replacing old: Entry) throws(SpoolError) -> (Submission, replacing: Int)? {
        let queued: PortableOperation
        switch try portable(old) {
        case .success(let operation)?: queued = operation
        // Nothing can be read of the attempts of a damaged file.
        case .failure?:
            let edited = submission.keyed(ownKey(), edit(of: old, submission.recordCount))
            return try size(of: old).map { (edited, $0) }
        case nil: return nil
        }
        let (before, after) = (queued.header, submission.header)
        let isSame =
            before.$url == after.$url && before.$method == after.$method
            && hasSameFile(before.bodyFile, after.bodyFile) && queued.body == submission.operation.body
        let given = after.idempotencyKey
        let isGiven = given != nil && after.$idempotencyKey != before.$idempotencyKey && !after.hasKeyOfEdit
        // The export may be from before an earlier edit, and lack its key.
        let kept = isGiven || !before.hasKeyOfEdit && !after.hasKeyOfEdit ? given : before.idempotencyKey
        let edited =
            isSame
            ? submission.keyed(kept, before.edited, historyOf: queued)
            : submission.keyed(isGiven ? given : ownKey(), edit(of: old, queued.recordCount), historyOf: queued)
        return (edited, queued.file.count)
    }

    private func edit(of old: Entry, _ attempts: Int) -> OperationHeader.Edit {
        OperationHeader.Edit(
            attempts: attempts, interruptions: old.name.interruptions, unknowns: old.name.unknowns)
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
