import Policy
import Spool

/// The choice from a listing: finds the operations that are due, and chooses some of them.
extension Chooser {
    /// Lists the waiting operations and chooses up to `budget` of those that are due. Calls `open` once for each kind
    /// that has a due or expired operation.
    mutating func choose(
        budget: Int, clock: RunClock, open: (OperationKinds.Kind) -> RunDestination
    ) throws(SpoolError) -> Pass {
        var kinds = kinds
        defer { self.kinds = kinds }
        guard case .hasSequenceLock = authority else { return try list(budget: budget, clock, &kinds, open) }
        return try spool.withNamesLock(patience: Self.patience) { () throws(SpoolError) in
            try list(budget: budget, clock, &kinds, open)
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
    }

    /// Lists and chooses. Not `mutating`: the closure that is called for each name would then copy the chooser.
    private func list(
        budget: Int, _ clock: RunClock, _ kinds: inout OperationKinds, _ open: (OperationKinds.Kind) -> RunDestination
    ) throws(SpoolError) -> Pass {
        var listing = Listing(
            pass: Pass(began: clock.instant()), selection: SharedSelection(limit: budget, ranks: peers.count))
        switch authority {
        case .undecided: break
        case .hasSequenceLock, .showsOnly:
            let (precedence, hasUnnamed) = try takePrecedence(&kinds)
            if authority == .showsOnly || !hasUnnamed { listing.precedence = precedence }
            listing.failed = try failedSequences(&kinds)
        }
        for state in [QueueState.new, .deferred] {
            let foreign = try spool.forEachName(in: state) { name, _ in
                take(name, in: state, kinds.kind(of: name), &listing, open)
            }
            if state == .new { listing.pass.foreign = foreign }
        }
        choose(&listing)
        if let precedence = listing.precedence {
            try confirm(&listing.pass, listing.destinations.values, precedence, &kinds)
        }
        var pass = listing.pass
        pass.leftDue -= pass.chosen.count
        for candidate in pass.chosen { listing.destinations[candidate.destination.digest]?.chosen += 1 }
        pass.cost = clock.instant() - pass.began
        return pass
    }

    /// Processes one name: offers a due operation, and notes one that is superseded, has expired or waits.
    private func take(
        _ name: ListedName, in state: QueueState, _ kind: OperationKinds.Kind, _ listing: inout Listing,
        _ open: (OperationKinds.Kind) -> RunDestination
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
            }
        }
        guard isNamed else { return }
        switch eligibility(of: name, kind) {
        case .held:
            if hasWaitedTooLong(name, in: state, kind) {
                _ = opened(kind, &listing, open)
                listing.pass.expire(candidate(name, in: state, sequence, isHead, kind), limit: options.limit)
            }
        case .deferred(let until):
            listing.pass.waiting += 1
            listing.pass.mayComeDue(until)
        case .due: offer(name, in: state, sequence, isHead: isHead, kind, &listing, open)
        }
    }

    private enum Place {
        case head
        case behindOthers
    }

    /// Returns the place of an operation in its sequence; `nil` if it is not sent, because an older one waits or holds
    /// it, or because a newer one supersedes it.
    private func place(
        of name: ListedName, in state: QueueState, _ sequence: SequenceKey, _ kind: OperationKinds.Kind,
        _ listing: inout Listing
    ) -> Place? {
        guard let turn = listing.precedence?.position(of: name, of: kind.route, to: kind.destination, mark: name.mark)
        else { return nil }
        let holder = listing.failed.holder(of: name, of: kind.route, to: kind.destination)
        let place: Place
        switch turn {
        case .free: place = .head
        case .inLine: place = .behindOthers
        case .blocked:
            if holder == nil { return nil }
            place = .behindOthers
        case .superseded(let newer):
            let isMerged = kind.route.mergesPayloads
            guard isNamed(newer) || isNamed(name) && !isMerged else { return nil }
            // An operation that must not be sent by itself is not merged either.
            if isMerged, !eligibility(of: name, kind).mayBeMerged(gate: name.gate) { return nil }
            let entry = Entry(state: state, name: EntryName(name))
            listing.pass.superseded.append(
                Pass.Superseded(entry: entry, newer: newer, sequence: sequence, isMerged: isMerged))
            return nil
        }
        guard holder != nil else { return place }
        if isNamed(name), eligibility(of: name, kind) == .due { listing.pass.heldBehindFailed += 1 }
        return nil
    }

    /// Offers a due operation for selection. Counts it as skipped or expired if its destination is blocked.
    private func offer(
        _ name: ListedName, in state: QueueState, _ sequence: SequenceKey?, isHead: Bool, _ kind: OperationKinds.Kind,
        _ listing: inout Listing, _ open: (OperationKinds.Kind) -> RunDestination
    ) {
        let destination = opened(kind, &listing, open)
        if !destination.control.admits(attempts: name.attempts) {
            if let lifetime = kind.route.expiresAfter, name.createdAt.isOfSetClock, name.createdAt + lifetime <= now {
                return listing.pass.expire(candidate(name, in: state, sequence, isHead, kind), limit: options.limit)
            }
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
        listing.pass.chosen = chosen.map(\.element)
        let byDestination = Dictionary(grouping: chosen, by: \.destination)
        for (digest, destination) in listing.destinations
        where destination.offered > byDestination[digest]?.count ?? 0 {
            let newest = listing.selection.newest(of: digest, besides: byDestination[digest] ?? [])
            destination.newest = newest.map(\.element).filter(\.isHead)
        }
    }

    /// Lists again if two listings differ in a sequence. Leaves to the next pass what this does not confirm.
    private func confirm(
        _ pass: inout Pass, _ destinations: some Collection<RunDestination>, _ precedence: Precedence,
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
        try spool.forEachStandingName { name, _ in
            let kind = kinds.kind(of: name)
            if kind.isSequential { confirmation.note(EntryName(name), of: kind.route, to: kind.destination) }
        }
        let count = pass.chosen.count
        pass.chosen.removeAll { !confirmation.confirms($0.entry.name, in: $0.sequence) }
        pass.superseded.removeAll { !confirmation.confirms(supersededBy: $0.newer, in: $0.sequence) }
        for destination in destinations {
            destination.newest.removeAll { !confirmation.confirms($0.entry.name, in: $0.sequence) }
        }
        if pass.chosen.count < count {
            pass.waiting += count - pass.chosen.count
            pass.mayComeDue(now)
        }
    }
}
