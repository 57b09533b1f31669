import CSystem

/// The admission lock: while a process has the lock, no other process counts the queue, or gives an operation with an
/// order its time of creation.
///
/// A batch takes the lock at its first look at the queue (`AdmissionControl.beginBatch`). In a queue with limits the
/// batch keeps the lock until its files have their names and the displaced operations are gone: so limits hold for all
/// processes that add. Without limits the batch gives the lock back once the record has the times of the batch. So a
/// process that begins to add after the answer of another process knows the times of the earlier batch, and a process
/// that stops while it writes or reads files stops no other.
///
/// The lock is taken after the ids lock and the names lock. Its holder takes neither: the holder has the ids lock
/// already, or needs none. The lock file is `state/admission.lock`.
extension SpoolDirectory {
    /// Takes the lock, unless this process has it. Throws EWOULDBLOCK if it is not free within `namesPatience`. The
    /// batches of dead writers are completed first, so that a count has their operations.
    func lockAdmissions() throws(SpoolError) {
        if hasAdmissionLock { return }
        try takeAdmissionLock()
        do throws(SpoolError) {
            if try committedBatches().isEmpty { return }
            unlockAdmissions()
            try completeCommittedBatches()
        } catch {
            unlockAdmissions()
            throw error
        }
        try takeAdmissionLock()
    }

    func unlockAdmissions() {
        guard hasAdmissionLock else { return }
        hasAdmissionLock = false
        admissionLock?.unlock()
    }

    private func takeAdmissionLock() throws(SpoolError) {
        let path = QueuePath("state/admission.lock")
        admissionLock = try attempt("lock", path) { () throws(Errno) in
            let lock = if let admissionLock { admissionLock } else { try LockFile(path, self) }
            var wait = LockWait(Self.namesPatience)
            while try !lock.tryLock() { try wait.sleep(system) }
            return lock
        }
        hasAdmissionLock = true
    }
}
