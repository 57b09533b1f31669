import Policy
import Spool

/// The choice from a listing: finds the due operations, and chooses some of them.
extension Chooser {
    /// Lists and chooses.
    func list(
        _ listing: inout Listing, _ authority: Authority, _ cut: borrowing Cut?,
        _ open: (OperationKinds.Kind) -> RunDestination
    ) throws(SpoolError) {
        let spool = listing.view.spool
        if authority != .undecided {
            let unnamed = try listing.view.readOrder(cut)
            // Files in `new/` are named in this pass, files in `claimed/` are another run's.
            listing.hasOrder = authority == .showsOnly || unnamed.claimed == 0
            // Only one of the listings may have met a file without a name: the order lacks the file all the same.
            listing.pass.foreign = unnamed.new
        }
        for state in [QueueState.new, .deferred] {
            let foreign = try spool.forEachName(in: state) { name, _ in take(name, in: state, cut, &listing, open) }
            if state == .new { listing.pass.foreign = max(listing.pass.foreign, foreign) }
        }
        choose(&listing)
        passOverCarried(&listing, open)
        expireByFile(&listing, open)
        if listing.hasOrder { try confirm(&listing, hasCut: cut != nil) }
    }

    /// Processes one name: offers a due operation, and notes a superseded, expired or waiting operation.
    private func take(
        _ name: ListedName, in state: QueueState, _ cut: borrowing Cut?, _ listing: inout Listing,
        _ open: (OperationKinds.Kind) -> RunDestination
    ) {
        let kind = listing.view.kinds.kind(of: name)
        guard kind.isAskedFor, !listing.view.isSetAside(name) else { return }
        let isNamed = listing.view.isNamed(name)
        guard isNamed || kind.order.isSequential else { return }
        let sequence = kind.order.isSequential ? kind.order.sequence(of: name, to: kind.destination) : nil
        if sequence != nil, !listing.hasOrder {
            listing.pass.undecided += 1
            return
        }
        let standing = listing.view.standing(of: name, kind, mark: sequence == nil ? 0 : name.mark)
        if listing.view.supersedesOthers(name, kind) {
            listing.pass.newer[name.id] = Entry(state: state, name: EntryName(name))
        }
        switch standing {
        case .superseded(let newer):
            guard isNamed || listing.view.isNamed(newer) else { return }
            supersede(name, in: state, by: newer, sequence, isMerged: false, &listing)
        case .part(let newer):
            if listing.view.isNamed(newer) { supersede(name, in: state, by: newer, sequence, isMerged: true, &listing) }
        case .waits(let reason):
            if isNamed { passOver(name, in: state, sequence, kind, reason, &listing, open) }
        case .due(let isHead):
            guard isNamed else { return }
            if sequence != nil, !(cut?.has(name.id) ?? true) {
                listing.pass.waiting += 1
                return listing.pass.mayComeDue(listing.view.now)
            }
            offer(name, in: state, sequence, isHead: isHead, kind, &listing, open)
        }
    }

    private func supersede(
        _ name: ListedName, in state: QueueState, by newer: OperationID, _ sequence: SequenceKey?, isMerged: Bool,
        _ listing: inout Listing
    ) {
        guard let sequence else { return }
        listing.pass.supersede(
            Pass.Superseded(
                entry: Entry(state: state, name: EntryName(name)), newer: newer, sequence: sequence, isMerged: isMerged),
            atMost: listing.options.portion)
    }

    /// Passes over a waiting operation. Fails it after too long a wait.
    private func passOver(
        _ name: ListedName, in state: QueueState, _ sequence: SequenceKey?, _ kind: OperationKinds.Kind,
        _ reason: WaitReason, _ listing: inout Listing, _ open: (OperationKinds.Kind) -> RunDestination
    ) {
        if case .failed = reason, listing.view.eligibility(of: name, kind) == .due {
            listing.pass.heldBehindFailed += 1
        }
        if expire(name, in: state, sequence, kind, reason, &listing, open) { return }
        guard case .time(let until) = reason else { return }
        listing.pass.waiting += 1
        listing.pass.mayComeDue(until)
    }

    /// Notes that the pass does not attempt an operation, for this reason. Returns whether its name says that the
    /// operation has expired: then the pass fails it.
    private func expire(
        _ name: ListedName, in state: QueueState, _ sequence: SequenceKey?, _ kind: OperationKinds.Kind,
        _ reason: WaitReason, _ listing: inout Listing, _ open: (OperationKinds.Kind) -> RunDestination
    ) -> Bool {
        if kind.order.mergesPayloads { listing.waitingCarriers.insert(name.id) }
        // A schedule puts nothing off beyond its expiry.
        var mayExpireByFile = true
        if case .time = reason, case .retryAt = name.gate, sequence == nil { mayExpireByFile = false }
        var bound = WaitBound.expiry
        if case .kept = reason { bound = .age }
        return expire(
            candidate(name, in: state, sequence, isHead: false, kind), createdAt: name.createdAt, mark: name.mark,
            mayExpireByFile: mayExpireByFile, kind, bound, &listing, open)
    }

    private func expire(
        _ candidate: @autoclosure () -> Candidate, createdAt: Timestamp, mark: UInt64, mayExpireByFile: Bool,
        _ kind: OperationKinds.Kind, _ bound: WaitBound, _ listing: inout Listing,
        _ open: (OperationKinds.Kind) -> RunDestination
    ) -> Bool {
        guard hasExpired(createdAt: createdAt, kind, bound, at: listing.view.now) else {
            if mayExpireByFile, expiries != nil {
                listing.passedOver.offer(mark, .init(candidate: candidate(), kind: kind))
            }
            return false
        }
        _ = opened(kind, &listing, open)
        listing.pass.expire(candidate(), atMost: listing.mostExpired)
        return true
    }

    /// Passes over the operations whose carrier, a newer operation, is not attempted in this pass.
    private func passOverCarried(_ listing: inout Listing, _ open: (OperationKinds.Kind) -> RunDestination) {
        if listing.waitingCarriers.isEmpty { return }
        for older in listing.pass.superseded where older.isMerged && listing.waitingCarriers.contains(older.newer) {
            let name = older.entry.name
            let kind = listing.view.kinds.kind(of: name)
            let candidate = Candidate(
                entry: older.entry, destination: kind.destination, sequence: older.sequence, isHead: false)
            _ = expire(
                candidate, createdAt: name.createdAt, mark: UInt64(bitPattern: name.createdAt.microseconds),
                mayExpireByFile: true, kind, .expiry, &listing, open)
        }
    }

    /// Fails operations that are not attempted in this pass if their files say that they have expired.
    private func expireByFile(_ listing: inout Listing, _ open: (OperationKinds.Kind) -> RunDestination) {
        guard let expiries else { return }
        for element in listing.passedOver.elements {
            do throws(SpoolError) {
                let expiry = try expiries.expiry(of: element.candidate.entry, in: listing.view.spool)
                guard let expiry, expiry <= listing.view.now else { continue }
                _ = opened(element.kind, &listing, open)
                listing.pass.expire(element.candidate, atMost: listing.mostExpired)
            } catch {
                listing.pass.errors.append(error)
            }
        }
    }

    /// Offers a due operation for selection. Counts it as skipped or expired if its destination is blocked.
    private func offer(
        _ name: ListedName, in state: QueueState, _ sequence: SequenceKey?, isHead: Bool, _ kind: OperationKinds.Kind,
        _ listing: inout Listing, _ open: (OperationKinds.Kind) -> RunDestination
    ) {
        let destination = opened(kind, &listing, open)
        if !destination.control.admits(attempts: QueueView.attempts(of: name, isHead: isHead)) {
            let block = destination.block
            let reason = block.map { WaitReason.destination($0) } ?? .nothing
            if expire(name, in: state, sequence, kind, reason, &listing, open) { return }
            destination.skipped += 1
            guard let block, let until = block.until else { return }
            listing.pass.mayComeDue(until)
            if block.reason != .held { listing.pass.waiting += 1 }
            return
        }
        destination.offered += 1
        listing.pass.leftDue += 1
        // Only this run sends operations with an order: it has the sequence lock.
        let rank = sequence == nil ? peers.rank(of: name) : 0
        listing.selection.count(rank: rank)
        guard kind.bounds[rank].contains(kind.order.ordering.sortKey(of: name.createdAt)) else { return }
        let candidate = candidate(name, in: state, sequence, isHead: isHead, kind)
        kind.bounds[rank] = listing.selection.offer(
            candidate.entry.name, rank: rank, by: kind.order.ordering, destination: kind.destination.digest,
            element: candidate)
    }

    /// Returns the destination of a kind. Opens it for the first operation.
    private func opened(
        _ kind: OperationKinds.Kind, _ listing: inout Listing, _ open: (OperationKinds.Kind) -> RunDestination
    ) -> RunDestination {
        if let known = kind.runDestination { return known }
        let destination = open(kind)
        kind.runDestination = destination
        listing.destinations[kind.destination.digest] = destination
        return destination
    }

    private func candidate(
        _ name: ListedName, in state: QueueState, _ sequence: SequenceKey?, isHead: Bool,
        _ kind: OperationKinds.Kind
    ) -> Candidate {
        let entry = Entry(state: state, name: EntryName(name))
        return Candidate(entry: entry, destination: kind.destination, sequence: sequence, isHead: isHead)
    }

    /// Chooses from the offered operations, and keeps the newest of each destination for samples.
    private func choose(_ listing: inout Listing) {
        let chosen = listing.selection.chosen()
        listing.pass.chosen = withOneSuspect(chosen.map(\.element))
        let byDestination = Dictionary(grouping: chosen, by: \.destination)
        for (digest, destination) in listing.destinations
        where destination.offered > byDestination[digest]?.count ?? 0 {
            let newest = listing.selection.newest(of: digest, besides: byDestination[digest] ?? [])
            destination.newest = newest.map(\.element).filter { $0.isHead && $0.entry.name.interruptions == 0 }
        }
    }

    /// Drops all but one of the operations in whose flight a run has died, with the operations behind the dropped ones:
    /// the run sends one at a time, so that another death shows the culprit. The operation with the fewest deaths goes
    /// first, so no blameless operation meets them all.
    private func withOneSuspect(_ chosen: [Candidate]) -> [Candidate] {
        let suspects = chosen.filter { $0.entry.name.interruptions > 0 }
        guard suspects.count > 1 else { return chosen }
        let first = suspects.min { $0.entry.name.interruptions < $1.entry.name.interruptions }
        var stopped: Set<SequenceKey> = []
        return chosen.filter { candidate in
            if candidate.sequence.map(stopped.contains) ?? false { return false }
            if candidate.entry.name.interruptions == 0 || candidate === first { return true }
            if let sequence = candidate.sequence { stopped.insert(sequence) }
            return false
        }
    }

    /// Lists again if two listings differ in a sequence. Leaves to the next pass what this does not confirm.
    ///
    /// With a cut, a file without a name entered after each operation that the pass may send, and stands before none.
    private func confirm(_ listing: inout Listing, hasCut: Bool) throws(SpoolError) {
        let (precedence, destinations) = (listing.view.precedence!, listing.destinations.values)
        func isInDoubt(_ sequence: SequenceKey?) -> Bool { sequence.map { !precedence.isConfirmed($0) } ?? false }
        let candidates = (listing.pass.chosen + destinations.flatMap(\.newest)).filter { isInDoubt($0.sequence) }
        let superseded = listing.pass.superseded.filter { isInDoubt($0.sequence) }
        if candidates.isEmpty && superseded.isEmpty { return }
        var confirmation = Confirmation(
            of: Set(candidates.compactMap(\.sequence) + superseded.map(\.sequence)),
            chosen: Set(candidates.map(\.entry.name)),
            superseded: Dictionary(
                superseded.map { ($0.entry.name, $0.newer) }, uniquingKeysWith: { first, _ in first }))
        let spool = listing.view.spool
        let unnamed = try spool.forEachStandingName { name, _ in
            let kind = listing.view.kinds.kind(of: name)
            if kind.order.isSequential { confirmation.note(EntryName(name), of: kind.order, to: kind.destination) }
        }
        if !hasCut, unnamed != (0, 0) { confirmation.noteUnnamed() }
        listing.pass.foreign = max(listing.pass.foreign, unnamed.new)
        let count = listing.pass.chosen.count
        listing.pass.chosen.removeAll { !confirmation.confirms($0.entry.name, in: $0.sequence) }
        listing.pass.removeSuperseded { !confirmation.confirms(supersededBy: $0.newer, in: $0.sequence) }
        for destination in destinations {
            destination.newest.removeAll { !confirmation.confirms($0.entry.name, in: $0.sequence) }
        }
        if listing.pass.chosen.count < count {
            listing.pass.waiting += count - listing.pass.chosen.count
            listing.pass.mayComeDue(listing.view.now)
        }
    }
}
