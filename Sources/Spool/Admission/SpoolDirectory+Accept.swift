package import Policy

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
    /// stays unchanged. An operation that has no other to replace does not enter: the other may have been delivered.
    ///
    /// Calls `keep` with the submissions as they were dated, and their results, before the first file has its name: a
    /// refused value of a sequence is in quarantine, in its place, before a later one is in the queue.
    ///
    /// A caller with several batches keeps the `AdmissionControl` between them.
    package func accept(
        _ submissions: [Submission], within control: inout AdmissionControl, durable: Bool = true,
        allOrNone: Bool = false, replacing: Bool = false, keep: ([Submission], [Acceptance]) -> Void = { _, _ in }
    ) throws(SpoolError) -> Accepted {
        let ids = submissions.filter { $0.hasOwnID || replacing }.map(\.header.id)
        return try withIDs(ids) { found throws(SpoolError) in
            try accept(submissions, found, within: &control, durable, allOrNone, replacing, keep)
        }
    }

    private func accept(
        _ submissions: [Submission], _ found: [OperationID: Entry], within control: inout AdmissionControl,
        _ durable: Bool, _ allOrNone: Bool, _ replacing: Bool, _ keep: ([Submission], [Acceptance]) -> Void
    ) throws(SpoolError) -> Accepted {
        var found = found
        if replacing { for entry in try withRuns(Array(found.values)) { found[entry.name.id] = entry } }
        let existing = try replacing ? [:] : existing(among: found, durable: durable)
        var isDone = false
        defer { control.endBatch(isDone: isDone, in: self) }
        try control.beginBatch(
            self, submissions, allOrNone: allOrNone, replaced: replacing ? Array(found.values) : [])
        var submissions = submissions
        var results: [Acceptance] = []
        var taken: [(index: Int, file: IncomingFile)] = []
        var seen: [OperationID: QueueState] = [:]
        for (index, submission) in submissions.enumerated() {
            let id = submission.header.id
            if let state = seen[id] {
                results.append(.duplicate(of: state))
                continue
            }
            if let existing = existing[id] {
                results.append(Acceptance(existing))
                continue
            }
            let admission: Result<IncomingFile, AdmissionRefusal>
            if replacing {
                guard let replaced = found[id] else {
                    results.append(.isGone)
                    continue
                }
                guard !replaced.isInFlight, let (edited, bytes) = try edit(submission, replacing: replaced) else {
                    results.append(.inFlight)
                    continue
                }
                admission = try control.admit(edited, replacing: replaced, of: bytes, self)
            } else {
                admission = try control.admit(&submissions[index], isCandidate: true, self)
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
        keep(submissions, results)
        var accepted = Accepted(results: results)
        if allOrNone, results.contains(where: \.keepsOthersOut) {
            for (index, _) in taken { accepted.results[index] = .notAttempted }
            return accepted
        }
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
            for (number, (index, file)) in taken.enumerated() where file.replaces != nil {
                if unreplaced.contains(number) {
                    accepted.results[index] = .inFlight
                } else {
                    accepted.replaced.append(file.entry)
                }
            }
        }
        isDone = removeVictims(within: &control, &accepted)
        return accepted
    }

    /// Row N, D → gone: makes room for an operation of `SpoolRun.accept` that stays in the queue. Counts and chooses
    /// anew: there may be room by now.
    package func makeRoom(for name: EntryName, within control: inout AdmissionControl, now: Timestamp) -> Accepted {
        var accepted = Accepted(results: [])
        var isDone = false
        defer { control.endBatch(isDone: isDone, in: self) }
        do throws(SpoolError) {
            isDone = try remove(try control.propose(for: name, at: now, in: self), within: &control, &accepted)
        } catch {
            accepted.errors.append(error)
        }
        return accepted
    }

    /// Row N, D → gone, for operations displaced by newer operations, which are in the queue. An error leaves the rest
    /// of the files: the newer operations have been accepted, and the queue stays over its limits.
    /// Returns whether all displaced operations went.
    func removeVictims(within control: inout AdmissionControl, _ accepted: inout Accepted) -> Bool {
        do throws(SpoolError) {
            return try remove(try control.beginRemovals(in: self), within: &control, &accepted)
        } catch {
            accepted.errors.append(error)
            return false
        }
    }

    private func remove(
        _ proposed: [RemovalCandidates.Victim], within control: inout AdmissionControl, _ accepted: inout Accepted
    ) throws(SpoolError) -> Bool {
        if proposed.isEmpty { return true }
        var areGone = true
        try withNamesLock { () throws(SpoolError) in
            // First: the newer operation of a superseded one is there until it goes itself.
            let superseded = proposed.filter { $0.newer != nil }
            if !superseded.isEmpty { areGone = try removeSuperseded(superseded, within: &control, &accepted) }
            let evicted = proposed.filter { $0.newer == nil }
            if !evicted.isEmpty, try !evict(evicted, within: &control, &accepted) { areGone = false }
        }
        return areGone
    }

    private func removeSuperseded(
        _ victims: [RemovalCandidates.Victim], within control: inout AdmissionControl, _ accepted: inout Accepted
    ) throws(SpoolError) -> Bool {
        let scratch = try ScratchDirectory(self)
        defer { scratch.close() }
        // The newer operation of a victim may be a victim itself: then its own newer one replaces both.
        var newest: [EntryName: EntryName] = [:]
        for victim in victims { newest[victim.parts[0].entry.name] = victim.newer?.name }
        var states: Set<QueueState> = []
        var areGone = true
        for victim in victims where control.countOut(victim) {
            guard let rule = victim.newer?.rule, var name = victim.newer?.name else { continue }
            while let newer = newest[name] { name = newer }
            let older = victim.parts[0].entry
            guard let newer = successor(named: name, rule),
                try supersede(older, by: newer, rule, scratch, at: control.now)
            else {
                areGone = false
                continue
            }
            accepted.superseded.append(SupersededEntry(entry: older, newer: name.id))
            states.insert(older.state)
        }
        for state in states { try syncDirectory(state.path) }
        return areGone
    }

    private func evict(
        _ victims: [RemovalCandidates.Victim], within control: inout AdmissionControl, _ accepted: inout Accepted
    ) throws(SpoolError) -> Bool {
        let run = try beginRun(now: nil)
        var areGone = true
        var first: SpoolError?
        for victim in victims {
            guard first == nil, let eviction = control.eviction(of: victim) else { continue }
            do throws(SpoolError) {
                if try run.evict(eviction) {
                    accepted.evicted += victim.parts.map(\.entry)
                } else {
                    areGone = false
                }
            } catch {
                first = error
            }
        }
        do throws(SpoolError) { try run.sync(countingRemovals: true) } catch { first = first ?? error }
        do throws(SpoolError) { try run.end() } catch { first = first ?? error }
        if let first { throw first }
        return areGone
    }
}

extension Acceptance {
    fileprivate init(_ existing: SpoolDirectory.Existing) {
        switch existing {
        case .stays(let state): self = .duplicate(of: state)
        case .mayEnd: self = .isBeingSent
        }
    }

    fileprivate var keepsOthersOut: Bool {
        switch self {
        case .rejected, .refused, .inFlight, .isBeingSent, .isGone: true
        case .accepted, .duplicate, .notAttempted: false
        }
    }
}
