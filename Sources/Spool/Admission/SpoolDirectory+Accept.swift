import Policy

/// Acceptance of new operations: row W → N or D, and for imported ones (`PortableOperation`) also X or K.
extension SpoolDirectory {
    /// Takes a batch in. After the return each operation reported as accepted or a duplicate survives a power cut, if
    /// `durable`.
    ///
    /// The times of `Submission.at` increase strictly. Looks for the submitters' ids in every state but `delivered`,
    /// under the ids lock: if several processes add the same id at the same time, only one succeeds. With `allOrNone` a
    /// rejected or refused operation, or an operation in flight, keeps out the whole batch, and a crash leaves all
    /// operations or none. After an error no operation of the batch is promised, and what could be taken back has been.
    ///
    /// Removes displaced operations once the newer operations are in: an earlier error or crash costs no operation. So
    /// the queue can exceed its limits for a moment, and after a crash until the next `add`.
    ///
    /// With `replacing` an operation takes the place of the operation with its id, in one step: at each moment, and
    /// after a crash, one of the two is there. Type, key and time of creation must be the same. An operation in flight
    /// stays unchanged.
    ///
    /// A caller with several batches keeps the `AdmissionControl` between them.
    package func accept(
        _ submissions: [Submission], within control: inout AdmissionControl, durable: Bool = true,
        allOrNone: Bool = false, replacing: Bool = false
    ) throws(SpoolError) -> Accepted {
        let ids = submissions.filter(\.hasOwnID).map(\.header.id)
        return try withIDs(ids) { found throws(SpoolError) in
            try accept(submissions, found, within: &control, durable, allOrNone, replacing)
        }
    }

    private func accept(
        _ submissions: [Submission], _ found: [OperationID: Entry], within control: inout AdmissionControl,
        _ durable: Bool, _ allOrNone: Bool, _ replacing: Bool
    ) throws(SpoolError) -> Accepted {
        var isDone = false
        defer { control.endBatch(isDone: isDone, in: self) }
        try control.beginBatch(
            self, submissions, allOrNone: allOrNone, replaced: replacing ? Array(found.values) : [])
        var results: [Acceptance] = []
        var taken: [(index: Int, file: IncomingFile)] = []
        var seen: [OperationID: QueueState] = [:]
        var existing: [Entry] = []
        for (index, submission) in submissions.enumerated() {
            let id = submission.header.id
            if let state = seen[id] {
                results.append(.duplicate(of: state))
                continue
            }
            let replaced = found[id]
            if let replaced, !replacing {
                existing.append(replaced)
                results.append(.duplicate(of: replaced.state))
                continue
            }
            if replaced?.state == .claimed {
                results.append(.inFlight)
                continue
            }
            var submission = submission
            let admission =
                if let replaced { try control.admit(submission, replacing: replaced, self) } else {
                    try control.admit(&submission, number: taken.count, self)
                }
            switch admission {
            case .failure(.limit(let limit)): results.append(.rejected(limit))
            case .failure(.defect(let reason)): results.append(.refused(reason))
            case .success(let file):
                seen[id] = file.entry.state
                taken.append((index, file))
                results.append(.accepted(file.entry.name))
            }
        }
        var accepted = Accepted(results: results)
        if allOrNone, results.contains(where: \.keepsOthersOut) {
            for (index, _) in taken { accepted.results[index] = .notAttempted }
            return accepted
        }
        if durable { try syncExisting(existing) }
        let displaced = Set(control.victims.compactMap(\.member))
        if !displaced.isEmpty { taken = taken.enumerated().filter { !displaced.contains($0.offset) }.map(\.element) }
        if !taken.isEmpty {
            try control.recordBatch(in: self)
            let unpublished = try publish(taken.map(\.file), durable: durable, allOrNone: allOrNone)
            if !control.needsLock { AdmissionRecord.invalidate(in: self) }
            for number in unpublished.collisions {
                accepted.results[taken[number].index] = .duplicate(of: taken[number].file.entry.state)
            }
            let unreplaced = Set(unpublished.unreplaced)
            if allOrNone, !unreplaced.isEmpty {
                for (number, (index, _)) in taken.enumerated() {
                    accepted.results[index] = unreplaced.contains(number) ? .inFlight : .notAttempted
                }
                return accepted
            }
            for (number, (index, file)) in taken.enumerated() where file.replaces {
                if unreplaced.contains(number) {
                    accepted.results[index] = .inFlight
                } else {
                    accepted.replaced.append(file.entry)
                }
            }
        }
        isDone = remove(control.victims, &accepted)
        return accepted
    }

    /// Row N, D → gone: removes the operations displaced by an operation of `SpoolRun.accept`, once the accepted
    /// operation stays.
    package func makeRoom(within control: AdmissionControl) -> Accepted {
        var accepted = Accepted(results: [])
        _ = remove(control.victims, &accepted)
        // The record of admissions still counts them.
        if !control.victims.isEmpty { AdmissionRecord.noteRemovals(in: self) }
        return accepted
    }

    /// Row N, D → gone, for operations displaced by newer operations. An error leaves the rest of the files: the newer
    /// operations have been accepted, and the next `add` finds the queue over its limits. An operation of the batch
    /// itself has no file, and is displaced all the same. Returns whether all victims went.
    func remove(_ victims: [RemovalCandidates.Victim], _ accepted: inout Accepted) -> Bool {
        var gone = Set(victims.filter { $0.member != nil }.map(\.entry.name))
        do throws(SpoolError) {
            try remove(victims.filter { $0.member == nil }.map(\.entry), &gone)
        } catch {
            accepted.errors.append(error)
        }
        for victim in victims where gone.contains(victim.entry.name) {
            if let newer = victim.newer {
                accepted.superseded.append(SupersededEntry(entry: victim.entry, newer: newer))
            } else {
                accepted.evicted.append(victim.entry)
            }
        }
        return victims.allSatisfy { gone.contains($0.entry.name) }
    }

    private func remove(_ entries: [Entry], _ gone: inout Set<EntryName>) throws(SpoolError) {
        if entries.isEmpty { return }
        let scratch = try ScratchDirectory(self)
        defer { scratch.close() }
        var states: Set<QueueState> = []
        for entry in entries where try drop(QueuePath(entry.path), scratch) {
            gone.insert(entry.name)
            states.insert(entry.state)
        }
        for state in states { try syncDirectory(state.path) }
    }
}

extension Acceptance {
    fileprivate var keepsOthersOut: Bool {
        switch self {
        case .rejected, .refused, .inFlight: true
        case .accepted, .duplicate, .notAttempted: false
        }
    }
}
