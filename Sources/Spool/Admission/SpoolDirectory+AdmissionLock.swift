import CSystem

/// The admission lock: while a process has it, no other process counts the queue, or gives an operation that has an
/// order its time of creation.
///
/// A batch takes it at its first look at the queue (`AdmissionControl.beginBatch`). In a queue with limits it keeps the
/// lock until its files have their names and what they displace is gone: so limits hold for all processes that add.
/// Without limits it gives the lock back once the record has the times of the batch: a process that begins to add after
/// another one has answered knows the times of that one, and a process that stops while it writes or reads files stops
/// no other.
///
/// The lock is taken after the ids lock and the names lock. Its holder takes neither: it has the ids lock already, or
/// needs none. The lock file is `state/admission.lock`.
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
