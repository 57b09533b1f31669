import Policy
import Spool

/// The choice from a listing: finds the operations that are due, and chooses some of them.
extension Chooser {
    /// Lists the waiting operations and chooses up to `budget` of those that are due. Calls `open` once for each kind
    /// that has a due or expired operation.
    mutating func choose(
        budget: Int, of cut: borrowing Cut? = nil, clock: RunClock, open: (OperationKinds.Kind) -> RunDestination
    ) throws(SpoolError) -> Pass {
        var kinds = kinds
        defer { self.kinds = kinds }
        guard case .hasSequenceLock = authority else { return try list(budget: budget, cut, clock, &kinds, open) }
        return try spool.withNamesLock(patience: Self.patience) { () throws(SpoolError) in
            try list(budget: budget, cut, clock, &kinds, open)
        }
    }

    /// The findings of one listing so far.
    private struct Listing {
        var pass: Pass
        var selection: SharedSelection<Digest, Candidate>
        /// The destinations that have a due or expired operation.
        var destinations: [Digest: RunDestination] = [:]
        var precedence: Precedence?
        var failed = FailedSequences()
        /// Operations whose files may say that they have expired.
        var passedOver: PassedOver
        /// The operations of merging kinds that are not attempted in this pass: neither are those that they carry.
        var waitingCarriers: Set<OperationID> = []
    }

    /// Lists and chooses. Not `mutating`: the closure that is called for each name would then copy the chooser.
    private func list(
        budget: Int, _ cut: borrowing Cut?, _ clock: RunClock, _ kinds: inout OperationKinds,
        _ open: (OperationKinds.Kind) -> RunDestination
    ) throws(SpoolError) -> Pass {
        var listing = Listing(
            pass: Pass(began: clock.instant()), selection: SharedSelection(limit: budget, ranks: peers.count),
            passedOver: PassedOver(at: now))
        switch authority {
        case .undecided: break
        case .hasSequenceLock, .showsOnly:
            let (precedence, unnamed) = try takePrecedence(cut, &kinds)
            // Files in `new/` are named in this pass, those in `claimed/` are another run's.
            if authority == .showsOnly || unnamed.claimed == 0 { listing.precedence = precedence }
            // Only one of the listings may have met a file that it could not name: the order lacks it all the same.
            listing.pass.foreign = unnamed.new
            listing.failed = try failedSequences(&kinds)
        }
        for state in [QueueState.new, .deferred] {
            let foreign = try spool.forEachName(in: state) { name, _ in
                take(name, in: state, kinds.kind(of: name), cut, &listing, open)
            }
            if state == .new { listing.pass.foreign = max(listing.pass.foreign, foreign) }
        }
        choose(&listing)
        passOverCarried(&listing, &kinds, open)
        expireByFile(&listing, open)
        if let precedence = listing.precedence {
            try confirm(&listing.pass, listing.destinations.values, precedence, hasCut: cut != nil, &kinds)
        }
        var pass = listing.pass
        pass.errors += kept?.errors ?? []
        pass.leftDue -= pass.chosen.count
        for candidate in pass.chosen { listing.destinations[candidate.destination.digest]?.chosen += 1 }
        pass.cost = clock.instant() - pass.began
        return pass
    }

    /// Processes one name: offers a due operation, and notes one that is superseded, has expired or waits.
    private func take(
        _ name: ListedName, in state: QueueState, _ kind: OperationKinds.Kind, _ cut: borrowing Cut?,
        _ listing: inout Listing, _ open: (OperationKinds.Kind) -> RunDestination
    ) {
        guard kind.isAskedFor, !isSetAside(name) else { return }
        let isNamed = isNamed(name)
        guard isNamed || kind.isSequential else { return }
        var sequence: SequenceKey?
        var isHead = true
        if kind.isSequential {
            sequence = kind.route.sequence(of: name, to: kind.destination)
            if let sequence {
                guard let place = place(of: name, in: state, sequence, kind, &listing) else { return }
                isHead = place == .head
                if place == .waits {
                    if isNamed { _ = passOver(name, in: state, sequence, isHead, kind, .expiry, &listing, open) }
                    return
                }
                if !(cut?.has(name.id) ?? true) {
                    listing.pass.waiting += 1
                    return listing.pass.mayComeDue(now)
                }
            }
        }
        guard isNamed else { return }
        switch eligibility(of: name, kind) {
        case .held:
            let lacksValue = !name.isHeld && lack(EntryName(name), kind.keptNames, kind.route) != nil
            _ = passOver(name, in: state, sequence, isHead, kind, lacksValue ? .age : .expiry, &listing, open)
        case .deferred(let until):
            if passOver(name, in: state, sequence, isHead, kind, .expiry, &listing, open) { return }
            listing.pass.waiting += 1
            listing.pass.mayComeDue(until)
        case .due: offer(name, in: state, sequence, isHead: isHead, kind, &listing, open)
        }
    }

    /// Fails an operation that is not attempted in this pass, and returns true, if its name says that it has expired.
    private func passOver(
        _ name: ListedName, in state: QueueState, _ sequence: SequenceKey?, _ isHead: Bool,
        _ kind: OperationKinds.Kind, _ bound: WaitBound, _ listing: inout Listing,
        _ open: (OperationKinds.Kind) -> RunDestination
    ) -> Bool {
        if kind.route.mergesPayloads { listing.waitingCarriers.insert(name.id) }
        // A schedule puts nothing off beyond its expiry.
        var mayExpireByFile = true
        if case .retryAt = name.gate, bound == .expiry, sequence == nil { mayExpireByFile = false }
        return passOver(
            self.candidate(name, in: state, sequence, isHead, kind), createdAt: name.createdAt, mark: name.mark,
            mayExpireByFile: mayExpireByFile, kind, bound, &listing, open)
    }

    private func passOver(
        _ candidate: @autoclosure () -> Candidate, createdAt: Timestamp, mark: UInt64, mayExpireByFile: Bool,
        _ kind: OperationKinds.Kind, _ bound: WaitBound, _ listing: inout Listing,
        _ open: (OperationKinds.Kind) -> RunDestination
    ) -> Bool {
        guard hasExpired(createdAt: createdAt, kind, bound) else {
            if mayExpireByFile, expiries != nil {
                listing.passedOver.offer(mark, .init(candidate: candidate(), kind: kind))
            }
            return false
        }
        _ = opened(kind, &listing, open)
        listing.pass.expire(candidate(), atMost: min(options.limit, options.portion))
        return true
    }

    /// Passes over the operations that were to go with a newer one which is not attempted in this pass.
    private func passOverCarried(
        _ listing: inout Listing, _ kinds: inout OperationKinds, _ open: (OperationKinds.Kind) -> RunDestination
    ) {
        if listing.waitingCarriers.isEmpty { return }
        for older in listing.pass.superseded where older.isMerged && listing.waitingCarriers.contains(older.newer) {
            let (name, kind) = (older.entry.name, kinds.kind(of: older.entry.name))
            let candidate = Candidate(
                entry: older.entry, destination: kind.destination, sequence: older.sequence, isHead: false)
            _ = passOver(
                candidate, createdAt: name.createdAt, mark: UInt64(bitPattern: name.createdAt.microseconds),
                mayExpireByFile: true, kind, .expiry, &listing, open)
        }
    }

    /// Fails operations that are not attempted in this pass if their files say that they have expired.
    private func expireByFile(_ listing: inout Listing, _ open: (OperationKinds.Kind) -> RunDestination) {
        guard let expiries else { return }
        for element in listing.passedOver.elements {
            do throws(SpoolError) {
                let expiry = try expiries.expiry(of: element.candidate.entry, in: spool)
                guard let expiry, expiry <= now else { continue }
                _ = opened(element.kind, &listing, open)
                listing.pass.expire(element.candidate, atMost: min(options.limit, options.portion))
            } catch {
                listing.pass.errors.append(error)
            }
        }
    }

    private enum Place {
        case head
        case behindOthers
        /// An older operation waits or holds it, or a newer one will carry its changes.
        case waits
    }

    /// Returns the place of an operation in its sequence; `nil` if a newer one supersedes it, or if another run decides
    /// the order.
    private func place(
        of name: ListedName, in state: QueueState, _ sequence: SequenceKey, _ kind: OperationKinds.Kind,
        _ listing: inout Listing
    ) -> Place? {
        guard let turn = listing.precedence?.position(of: name, of: kind.route, to: kind.destination, mark: name.mark)
        else {
            listing.pass.undecided += 1
            return nil
        }
        if kind.route.coalesce, listing.precedence!.supersedesOthers(name, of: kind.route, to: kind.destination) {
            listing.pass.newer[name.id] = Entry(state: state, name: EntryName(name))
        }
        let holder = listing.failed.holder(of: name, of: kind.route, to: kind.destination)
        let place: Place
        switch turn {
        case .free: place = .head
        case .inLine: place = .behindOthers
        case .blocked:
            if holder == nil { return .waits }
            place = .behindOthers
        case .superseded(let newer):
            let isMerged = kind.route.mergesPayloads
            guard isNamed(newer) || isNamed(name) && !isMerged else { return nil }
            // An operation that must not be sent by itself is not merged either.
            if isMerged, !eligibility(of: name, kind).mayBeMerged(gate: name.gate) { return .waits }
            let entry = Entry(state: state, name: EntryName(name))
            listing.pass.supersede(
                Pass.Superseded(entry: entry, newer: newer, sequence: sequence, isMerged: isMerged),
                atMost: options.portion)
            return nil
        }
        guard holder != nil else { return place }
        if isNamed(name), eligibility(of: name, kind) == .due { listing.pass.heldBehindFailed += 1 }
        return .waits
    }

    /// Offers a due operation for selection. Counts it as skipped or expired if its destination is blocked.
    private func offer(
        _ name: ListedName, in state: QueueState, _ sequence: SequenceKey?, isHead: Bool, _ kind: OperationKinds.Kind,
        _ listing: inout Listing, _ open: (OperationKinds.Kind) -> RunDestination
    ) {
        let destination = opened(kind, &listing, open)
        // An operation behind others of its sequence goes when they have gone, whatever its own schedule allows.
        if !destination.control.admits(attempts: isHead ? name.attempts : 0) {
            if passOver(name, in: state, sequence, isHead, kind, .expiry, &listing, open) { return }
            destination.skipped += 1
            guard let block = destination.block, let until = block.until else { return }
            listing.pass.mayComeDue(until)
            if block.reason != .held { listing.pass.waiting += 1 }
            return
        }
        destination.offered += 1
        listing.pass.leftDue += 1
        // Only this run sends operations that have an order: it has the sequence lock.
        let rank = sequence == nil ? peers.rank(of: name) : 0
        listing.selection.count(rank: rank)
        guard kind.bounds[rank].contains(kind.route.ordering.sortKey(of: name.createdAt)) else { return }
        let candidate = candidate(name, in: state, sequence, isHead, kind)
        kind.bounds[rank] = listing.selection.offer(
            candidate.entry.name, rank: rank, by: kind.route.ordering, destination: kind.destination.digest,
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
        _ name: ListedName, in state: QueueState, _ sequence: SequenceKey?, _ isHead: Bool, _ kind: OperationKinds.Kind
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

    /// Leaves one of the operations in whose flight a run has died, with those behind the others: the run sends one at
    /// a time, so that another death shows the culprit. The one with the fewest deaths goes first, so no blameless
    /// operation meets them all.
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
    private func confirm(
        _ pass: inout Pass, _ destinations: some Collection<RunDestination>, _ precedence: Precedence, hasCut: Bool,
        _ kinds: inout OperationKinds
    ) throws(SpoolError) {
        func isInDoubt(_ sequence: SequenceKey?) -> Bool { sequence.map { !precedence.isConfirmed($0) } ?? false }
        let spares = destinations.flatMap(\.newest)
        let candidates = (pass.chosen + spares).filter { isInDoubt($0.sequence) }
        let superseded = pass.superseded.filter { isInDoubt($0.sequence) }
        if candidates.isEmpty && superseded.isEmpty { return }
        var confirmation = Confirmation(
            of: Set(candidates.compactMap(\.sequence) + superseded.map(\.sequence)),
            chosen: Set(candidates.map(\.entry.name)),
            superseded: Dictionary(
                superseded.map { ($0.entry.name, $0.newer) }, uniquingKeysWith: { first, _ in first }))
        let unnamed = try spool.forEachStandingName { name, _ in
            let kind = kinds.kind(of: name)
            if kind.isSequential { confirmation.note(EntryName(name), of: kind.route, to: kind.destination) }
        }
        if !hasCut, unnamed != (0, 0) { confirmation.noteUnnamed() }
        pass.foreign = max(pass.foreign, unnamed.new)
        let count = pass.chosen.count
        pass.chosen.removeAll { !confirmation.confirms($0.entry.name, in: $0.sequence) }
        pass.removeSuperseded { !confirmation.confirms(supersededBy: $0.newer, in: $0.sequence) }
        for destination in destinations {
            destination.newest.removeAll { !confirmation.confirms($0.entry.name, in: $0.sequence) }
        }
        if pass.chosen.count < count {
            pass.waiting += count - pass.chosen.count
            pass.mayComeDue(now)
        }
    }
}
