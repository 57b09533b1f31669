package import Policy

extension SpoolRun {
    /// Row W → C: accepts an operation into a claim of this run, for `send`. Completes the submission as `add` does.
    ///
    /// Syncs the file, and not its name. So after a death of the process the next run returns the operation to row N,
    /// and a power cut may lose the operation. Once C → N or D is synced, the operation survives a power cut.
    ///
    /// Removes nothing, because the operation may not stay in the queue; if it does, the caller calls
    /// `SpoolDirectory.makeRoom`. Until then, and after a death of the process until the next `add`, the queue may
    /// exceed its limits.
    package func accept(
        _ submission: inout Submission, within control: inout AdmissionControl
    ) throws(SpoolError) -> AcceptResult {
        try confirm()
        let id = submission.header.id
        return try queue.withIDs(submission.hasOwnID ? [id] : []) { found throws(SpoolError) in
            if let existing = try queue.existing(among: found, durable: true)[id] { return .exists(existing) }
            defer { control.endBatch(isDone: false, in: queue) }
            try control.beginBatch(queue, [submission], allOrNone: false)
            switch try control.admit(&submission, isCandidate: false, queue) {
            case .failure(let refusal): return .refused(refusal)
            case .success(let file):
                let name = file.entry.name
                try control.recordBatch(in: queue)
                _ = try queue.publish([file], durable: true, allOrNone: false, claimedBy: self)
                if !control.needsLock { AdmissionRecord.invalidate(in: queue) }
                let claim = Claim(name, from: file.entry.state, by: self)
                claimed(claim)
                return .accepted(claim)
            }
        }
    }

    package enum AcceptResult: Sendable {
        case accepted(Claim)
        /// An operation has that id already, durably if it stays. Nothing was done.
        case exists(SpoolDirectory.Existing)
        case refused(AdmissionRefusal)
    }
}

extension SpoolDirectory {
    /// Returns the operation that has this id already, durable if it stays; `nil` if there is none.
    package func existing(_ id: OperationID) throws(SpoolError) -> Existing? {
        try withIDs([id]) { found throws(SpoolError) in try existing(among: found, durable: true)[id] }
    }
}
