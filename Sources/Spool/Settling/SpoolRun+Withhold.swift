import CSystem
package import Policy

/// Failures whose report is not written, and failures that are not certain yet: the storm guard withholds a permanent
/// answer to an operation of a sequence, and the sequence goes on. The operation is in row X, so no crash sends it
/// after its successor. A mark says that its run may take it back. If the run dies, the operation stays failed.
extension SpoolRun {
    /// Row C → X, as `settle`, with the mark.
    package func withhold(_ disposal: Disposal, now: Timestamp) throws(SpoolError) -> Settled {
        let before = disposal.claim.mark?.meaning
        mark(disposal.claim, .withheld)
        do throws(SpoolError) { return try settle(disposal, now: now) } catch {
            if let before { mark(disposal.claim, before) } else { unmark(disposal.claim) }
            throw error
        }
    }

    /// Row C → X: moves an operation that has failed. First its mark says so: if the process dies from here on, or the
    /// system does not move the file, recovery moves it, and tells of it. After an error the file may be in both rows.
    ///
    /// An operation of `send` stays in row C, with its mark, until `refuse`.
    func fail(_ claim: Claim, _ name: EntryName, _ now: Timestamp) throws(SpoolError) -> Settled {
        if claim.mark?.meaning != .withheld, canMarkMore { mark(claim, .failed(isOfStorm: claim.isOfStorm)) }
        if hasSubmitter { return .moved(Entry(state: .claimed, name: claim.name, claimedBy: self.name)) }
        return try place(claim.path, Entry(state: .failed, name: name), "move to failed/", now)
    }

    /// The failure is certain: from now on its mark says that nobody has been told.
    package func endWithholding(_ claim: Claim) { mark(claim, .failed(isOfStorm: true)) }

    /// Row X → C: takes back a withheld failure. Returns false if the file is not there any more. Under the names lock:
    /// an operator's command that has found the operation in failed/ finishes before.
    package func takeBack(_ failed: Entry, as claim: Claim, patience: Duration) throws(SpoolError) -> Bool {
        try confirm()
        let from = QueuePath(failed.path)
        let isThere = try queue.withNamesLock(patience: patience) { () throws(SpoolError) in
            try queue.attempt("take back", from) { () throws(Errno) in
                do throws(Errno) {
                    try queue.move(from, claim.path)
                    return true
                } catch let error where error == .missing {
                    return false
                }
            }
        }
        guard isThere else { return false }
        noteRemoval(in: from.parent)
        claimed(claim)
        return true
    }
}

extension SpoolDirectory {
    /// Returns the entries, those in row X that a run at work may take back with the run: they are in flight. For
    /// entries listed before: a failure that has no mark afterwards is certain. Takes no lock.
    package func withRuns(_ entries: [Entry]) throws(SpoolError) -> [Entry] {
        if !entries.contains(where: { $0.state == .failed }) { return entries }
        let runs = try withheldFailures()
        return entries.map { entry in
            guard entry.state == .failed else { return entry }
            return Entry(state: .failed, name: entry.name, claimedBy: runs[entry.name.id])
        }
    }

    /// Returns the operations in row X that a run at work may take back, each with the run. Takes no lock.
    package func withheldFailures() throws(SpoolError) -> [OperationID: String] {
        try markedFailures(of: try runs().alive) { $0 == .withheld }
    }

    /// Returns the operations with such a mark of a run, each with the run, dead ones included unless given.
    func markedFailures(
        of runs: Set<String>? = nil, where isMeant: (ClaimMarks.Meaning) -> Bool
    ) throws(SpoolError) -> [OperationID: String] {
        var marked: [OperationID: String] = [:]
        let all = if let runs { runs } else { Set(try names(in: QueueState.claimed.path).map(QueuePath.escaped)) }
        for run in all {
            let lock = QueuePath("claimed/\(run)/lock")
            for (name, mark) in try ClaimMarks.read(of: run, lock, self) ?? [:] where isMeant(mark.meaning) {
                if let name = EntryName(name) { marked[name.id] = run }
            }
        }
        return marked
    }
}
