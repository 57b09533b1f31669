import Policy
import Spool

/// The choice from a listing: finds the due operations, and chooses some of them.
extension Listing {
    /// Lists and chooses.
    mutating func list(_ cut: borrowing Cut?, _ clock: RunClock) throws(SpoolError) {
        let spool = view.spool
        // The wait for the names lock is another process's cost.
        let start = clock.instant()
        if authority.isPlanning || authority.decidesOrder {
            let unnamed = try readOrder(cut)
            // Files in `new/` are named in this pass, files in `claimed/` are another run's.
            hasOrder = authority.isPlanning || unnamed.claimed == 0
            // Only one of the two reads of `new/` may have met a file without a name: the order lacks the file all the
            // same.
            pass.foreign = unnamed.new
        }
        for state in [QueueState.new, .deferred] {
            let foreign = try spool.forEachName(in: state) { name, _ in take(name, in: state, cut) }
            if state == .new { pass.foreign = max(pass.foreign, foreign) }
        }
        select()
        try passOverLacking()
        passOverCarried()
        expireByFile()
        pass.cost = clock.instant() - start
    }

    /// Processes one name: offers a due operation, and notes a superseded, expired or waiting operation.
    private mutating func take(_ name: ListedName, in state: QueueState, _ cut: borrowing Cut?) {
        if view.isOfRun(name) { pass.standing.insert(Age(name)) }
        let kind = view.kinds.kind(of: name)
        guard kind.isAskedFor, !view.isSetAside(name) else { return }
        let isNamed = view.isNamed(name)
        guard isNamed || kind.order.isSequential else { return }
        let sequence = kind.order.isSequential ? kind.order.sequence(of: name, to: kind.destination) : nil
        if sequence != nil, !hasOrder || !authority.isPlanning && !kind.isDecided {
            pass.isLeftToOthers = pass.isLeftToOthers || hasOrder
            if !hasOrder, isNamed, view.eligibility(of: name, kind) == .due { pass.leaveUndecided(name.id) }
            return
        }
        let standing = view.standing(of: name, kind)
        if view.supersedesOthers(name, kind) {
            pass.newer[name.id] = Entry(state: state, name: EntryName(name))
        }
        switch standing {
        case .superseded(let newer):
            guard isNamed || view.isNamed(newer) else { return }
            supersede(name, in: state, by: newer, sequence, isMerged: false)
        case .part(let newer):
            if view.isNamed(newer) { supersede(name, in: state, by: newer, sequence, isMerged: true) }
        case .waits(let reason):
            if isNamed { passOver(name, in: state, sequence, kind, reason) }
        case .due(let isHead):
            guard isNamed else { return }
            if sequence != nil, !(cut?.has(name.id) ?? true) {
                pass.waiting += 1
                return pass.noteDue(view.now)
            }
            offer(name, in: state, sequence, isHead: isHead, kind)
        }
    }

    private mutating func supersede(
        _ name: ListedName, in state: QueueState, by newer: OperationID, _ sequence: SequenceKey?, isMerged: Bool
    ) {
        guard let sequence else { return }
        pass.supersede(
            Pass.Superseded(
                entry: Entry(state: state, name: EntryName(name)), newer: newer, sequence: sequence, isMerged: isMerged),
            atMost: options.portion)
    }

    /// Passes over a waiting operation. Fails it after too long a wait.
    private mutating func passOver(
        _ name: ListedName, in state: QueueState, _ sequence: SequenceKey?, _ kind: OperationKinds.Kind,
        _ reason: WaitReason
    ) {
        if case .witness = reason { pass.parked.append((Age(name), kind.destination.digest)) }
        let count: PassedOver.Count =
            switch reason {
            case .failed where view.eligibility(of: name, kind) == .due: .heldBehindFailed
            case .time(let until), .newest(until: let until): .waiting(until: until)
            default: .nothing
            }
        passOver(name, in: state, sequence, kind, reason, count)
    }

    /// Notes that the pass does not attempt an operation, for this reason: fails the operation if it has expired, and
    /// counts it otherwise.
    private mutating func passOver(
        _ name: ListedName, in state: QueueState, _ sequence: SequenceKey?, _ kind: OperationKinds.Kind,
        _ reason: WaitReason, _ count: PassedOver.Count
    ) {
        if kind.order.mergesPayloads { waitingCarriers.insert(name.id) }
        // A schedule puts nothing off beyond its expiry.
        var mayExpireByFile = true
        if case .time = reason, case .retryAt = name.gate, sequence == nil { mayExpireByFile = false }
        if case .kept(let value) = reason {
            let candidate = Candidate(name, in: state, sequence, isHead: false, kind)
            lacking.append(LackingOperation(candidate: candidate, mark: name.mark, kind: kind, value: value))
            return
        }
        expireOrCount(
            Candidate(name, in: state, sequence, isHead: false, kind), createdAt: name.createdAt, mark: name.mark,
            mayExpireByFile: mayExpireByFile, kind, .expiry, count)
    }

    /// Passes over the operations that lack a kept value. Their age bounds the wait for a value that may never come: as
    /// long as another operation may leave it, they wait with that one, however long no run has come.
    private mutating func passOverLacking() throws(SpoolError) {
        var lacks = KeptLacks()
        for one in lacking where hasExpired(createdAt: one.createdAt, one.kind, .age, at: view.now) {
            view.note(one.value, of: one.candidate.entry, in: &lacks)
        }
        try view.serve(&lacks, from: QueueState.standing)
        for one in lacking {
            let isUnserved = view.isUnserved(one.value, of: one.candidate.entry, in: lacks)
            expireOrCount(
                one.candidate, createdAt: one.createdAt, mark: one.mark, mayExpireByFile: true, one.kind,
                isUnserved ? .age : .expiry, .nothing)
        }
    }

    private mutating func expireOrCount(
        _ candidate: @autoclosure () -> Candidate, createdAt: Timestamp, mark: UInt64, mayExpireByFile: Bool,
        _ kind: OperationKinds.Kind, _ bound: WaitBound, _ count: PassedOver.Count
    ) {
        if hasExpired(createdAt: createdAt, kind, bound, at: view.now) {
            _ = opened(kind)
            pass.noteExpired(candidate(), atMost: mostExpired)
        } else if mayExpireByFile, expiries != nil {
            self.count(passedOver.offer(mark, count, candidate(), kind))
        } else {
            self.count(count)
        }
    }

    private mutating func count(_ count: PassedOver.Count) {
        switch count {
        case .nothing: break
        case .heldBehindFailed: pass.heldBehindFailed += 1
        case .waiting(let until):
            pass.waiting += 1
            pass.noteDue(until)
        case .skipped(let destination):
            destination.skipped += 1
            guard let block = destination.block, let until = block.until else { return }
            pass.noteDue(until)
            if block.reason != .held { pass.waiting += 1 }
        }
    }

    /// Passes over the operations whose carrier, a newer operation, is not attempted in this pass.
    private mutating func passOverCarried() {
        if waitingCarriers.isEmpty { return }
        for older in pass.superseded where older.isMerged && waitingCarriers.contains(older.newer) {
            let name = older.entry.name
            let kind = view.kinds.kind(of: name)
            let candidate = Candidate(
                entry: older.entry, destination: kind.destination, sequence: older.sequence, isHead: false)
            expireOrCount(
                candidate, createdAt: name.createdAt, mark: UInt64(bitPattern: name.createdAt.microseconds),
                mayExpireByFile: true, kind, .expiry, .nothing)
        }
    }

    /// Fails operations that are not attempted in this pass if their files say that they have expired. Counts the
    /// others.
    private mutating func expireByFile() {
        guard let expiries else { return }
        for element in passedOver.elements {
            var expiry: Timestamp?
            do throws(SpoolError) {
                expiry = try expiries.expiry(of: element.candidate.entry, in: view.spool)
            } catch {
                pass.errors.append(error)
            }
            guard let expiry, expiry <= view.now else {
                count(element.count)
                continue
            }
            _ = opened(element.kind)
            pass.noteExpired(element.candidate, atMost: mostExpired)
        }
    }

    /// Offers a due operation for selection. Counts it as skipped or expired if its destination is blocked.
    private mutating func offer(
        _ name: ListedName, in state: QueueState, _ sequence: SequenceKey?, isHead: Bool, _ kind: OperationKinds.Kind
    ) {
        let destination = opened(kind)
        if !destination.control.admits(attempts: QueueView.attempts(of: name, isHead: isHead)) {
            let reason = destination.block.map { WaitReason.destination($0) } ?? .nothing
            return passOver(name, in: state, sequence, kind, reason, .skipped(destination))
        }
        pass.leftDue += 1
        // Newest first holds among sequences. Within one the older goes first: the newer comes in a later listing.
        if !isHead, kind.order.ordering == .newest { return }
        destination.offered += 1
        // Only this run sends operations with an order: it has their sequence lock.
        let rank = sequence == nil ? peers.rank(of: name) : 0
        selection.count(rank: rank)
        guard kind.bounds[rank].contains(kind.order.ordering.sortKey(of: name.createdAt)) else { return }
        let candidate = Candidate(name, in: state, sequence, isHead: isHead, kind)
        kind.bounds[rank] = selection.offer(
            candidate.entry.name, rank: rank, by: kind.order.ordering, destination: kind.destination.digest,
            fails: destination.control.trust == .fails, element: candidate)
    }

    /// Returns the destination of a kind. Opens it for the first operation.
    private mutating func opened(_ kind: OperationKinds.Kind) -> RunDestination {
        if let known = kind.runDestination { return known }
        let destination = open(kind)
        kind.runDestination = destination
        destinations[kind.destination.digest] = destination
        return destination
    }

    /// Chooses from the offered operations, and keeps the newest of each destination for samples.
    private mutating func select() {
        let chosen = selection.chosen()
        pass.chosen = withOneSuspect(chosen.map(\.element))
        let byDestination = Dictionary(grouping: chosen, by: \.destination)
        for (digest, destination) in destinations
        where destination.offered > byDestination[digest]?.count ?? 0 {
            let newest = selection.newest(of: digest, besides: byDestination[digest] ?? [])
            destination.newest = newest.map(\.element).filter { $0.isHead && $0.entry.name.interruptions == 0 }
        }
    }

    /// Drops all but one of the operations in whose flight a run has died, with the operations behind the dropped ones:
    /// the run sends one at a time, so that another death shows the culprit. Of the first ones of their sequences the
    /// operation with the fewest deaths goes first, so no blameless operation meets them all.
    private func withOneSuspect(_ chosen: [Candidate]) -> [Candidate] {
        let suspects = chosen.filter { $0.entry.name.interruptions > 0 }
        guard suspects.count > 1 else { return chosen }
        var sequences: Set<SequenceKey> = []
        let heads = suspects.filter { $0.sequence.map { sequences.insert($0).inserted } ?? true }
        let first = heads.min { $0.entry.name.interruptions < $1.entry.name.interruptions }
        var stopped: Set<SequenceKey> = []
        return chosen.filter { candidate in
            if candidate.sequence.map(stopped.contains) ?? false { return false }
            if candidate.entry.name.interruptions == 0 || candidate === first { return true }
            if let sequence = candidate.sequence { stopped.insert(sequence) }
            return false
        }
    }
}
