package import Policy
package import Spool

/// Decides from listings what is attempted, in which order, and what each operation waits for. One for each pass.
///
/// `run` and `send` hold the sequence lock and have recovered dead runs (`SpoolRun.takeOrder`) before they ask. Where
/// operations wait for each other the queue is listed twice, under the names lock: whether one may go depends on all the
/// others. Where the two listings differ, a third one decides.
package struct Chooser {
    private let spool: SpoolDirectory
    private let configuration: Configuration
    private let options: RunOptions
    private let now: Timestamp
    private let order: Order
    /// Operations that this run could not read or settle.
    private let setAside: Set<OperationID>
    /// Operations that this run has deferred itself.
    private let deferred: Set<OperationID>
    /// Groups whose operations cannot be merged, and are sent one after the other in this run.
    private let apart: Set<SequenceKey>
    private var kinds: OperationKinds

    /// What a listing may say of the order.
    package enum Order {
        /// This process has the sequence lock: the listing is made under the names lock, and decides.
        case decided
        /// The caller only shows the order.
        case shown
        /// Another run has the sequence lock: what has an order is left to it.
        case elsewhere
    }

    package init(
        spool: SpoolDirectory, configuration: Configuration, destinations: DestinationTable,
        options: RunOptions = RunOptions(), now: Timestamp, order: Order, setAside: Set<OperationID> = [],
        deferred: Set<OperationID> = [], apart: Set<SequenceKey> = [],
        parked: [Digest: [OperationID: Timestamp]] = [:]
    ) {
        self.apart = apart
        self.spool = spool
        self.configuration = configuration
        self.options = options
        self.now = now
        self.order = configuration.hasSequentialRoutes ? order : .elsewhere
        self.setAside = setAside
        self.deferred = deferred
        kinds = OperationKinds(configuration, destinations, options, parked: parked)
    }

    /// How long a listing waits for the names lock. Each holder but a listing has it for a few renames.
    private static let patience: Duration = .seconds(5)

    // MARK: - Whose turn it is

    /// Where operations stand that wait for each other; `nil` where none do, or where another run decides.
    package mutating func census() throws(SpoolError) -> Census? {
        var kinds = kinds
        defer { self.kinds = kinds }
        switch order {
        case .elsewhere: return nil
        case .shown: return try takeCensus(&kinds)
        case .decided:
            return try spool.withNamesLock(patience: Self.patience) { () throws(SpoolError) in try takeCensus(&kinds) }
        }
    }

    /// The operations that failed for good and hold those behind them. Only names are read, and those of `failed/` only
    /// where a route asks for it.
    package mutating func failedSequences() throws(SpoolError) -> FailedSequences {
        var kinds = kinds
        defer { self.kinds = kinds }
        return try failedSequences(&kinds)
    }

    private func failedSequences(_ kinds: inout OperationKinds) throws(SpoolError) -> FailedSequences {
        var failed = FailedSequences()
        guard configuration.holdsBehindFailed else { return failed }
        try spool.forEachName(in: .failed) { name, _ in
            let kind = kinds.kind(of: name)
            if kind.route.holdsBehindFailed { failed.note(EntryName(name), of: kind.route, to: kind.destination) }
        }
        return failed
    }

    private func takeCensus(_ kinds: inout OperationKinds) throws(SpoolError) -> Census {
        var census = Census(apart: apart)
        try spool.forEachStandingName { name, state in
            let kind = kinds.kind(of: name)
            guard kind.isSequential else { return }
            let isOutOfReach = state == .claimed || !kind.isAskedFor || isSetAside(name)
            let standing: Census.Standing =
                if isOutOfReach {
                    .outOfReach
                } else if isNamed(name) {
                    .waiting(eligibility(of: name, kind))
                } else {
                    .passedOver(eligibility(of: name, kind))
                }
            census.note(
                EntryName(name), standing, of: kind.route, to: kind.destination, mark: isOutOfReach ? 0 : name.mark)
        }
        return census
    }

    /// Whether an operation that is not in the queue may be sent: nothing older of its sequence waits, is in flight, or
    /// holds it because it failed.
    package mutating func isFirst(_ name: EntryName) throws(SpoolError) -> Bool {
        try spool.withNamesLock(patience: Self.patience) { () throws(SpoolError) in
            let kind = kinds.kind(of: name)
            guard let sequence = kind.route.sequence(of: name, to: kind.destination) else { return true }
            if try failedSequences().holder(of: name, of: kind.route, to: kind.destination) != nil { return false }
            var (kinds, isFirst) = (kinds, true)
            try spool.forEachStandingName { other, _ in
                let kind = kinds.kind(of: other)
                guard kind.isSequential, other.createdAt <= name.createdAt else { return }
                let other = EntryName(other)
                let isOlder = (other.createdAt, other.id) < (name.createdAt, name.id)
                if isOlder, kind.route.sequence(of: other, to: kind.destination) == sequence { isFirst = false }
            }
            return isFirst
        }
    }

    // MARK: - What is due

    /// Lists what waits and chooses up to `budget` of what is due. `open` is called once for each kind that something is due
    /// of.
    mutating func choose(
        budget: Int, clock: RunClock, open: (OperationKinds.Kind) -> RunDestination
    ) throws(SpoolError) -> Pass {
        var kinds = kinds
        defer { self.kinds = kinds }
        guard case .decided = order else { return try list(budget: budget, clock, &kinds, open) }
        return try spool.withNamesLock(patience: Self.patience) { () throws(SpoolError) in
            try list(budget: budget, clock, &kinds, open)
        }
    }

    /// Does not change the chooser: a closure that is called for each name would copy one that can change.
    private func list(
        budget: Int, _ clock: RunClock, _ kinds: inout OperationKinds, _ open: (OperationKinds.Kind) -> RunDestination
    ) throws(SpoolError) -> Pass {
        var pass = Pass(began: clock.instant())
        var selection = Selection<Digest, Candidate>(limit: budget)
        var destinations: [Digest: RunDestination] = [:]
        var census: Census?
        var failed = FailedSequences()
        switch order {
        case .elsewhere: break
        case .decided, .shown: (census, failed) = (try takeCensus(&kinds), try failedSequences(&kinds))
        }
        for state in [QueueState.new, .deferred] {
            let foreign = try spool.forEachName(in: state) { name, _ in
                let kind = kinds.kind(of: name)
                guard kind.isAskedFor, !isSetAside(name) else { return }
                let isNamed = isNamed(name)
                guard isNamed || kind.isSequential else { return }
                var sequence: SequenceKey?
                var isHead = true
                if kind.isSequential {
                    let entry = Entry(state: state, name: EntryName(name))
                    sequence = kind.route.sequence(of: entry.name, to: kind.destination)
                    if let sequence {
                        guard
                            let turn = census?.turn(
                                of: entry.name, of: kind.route, to: kind.destination, mark: name.mark)
                        else { return }
                        let holder = failed.holder(of: entry.name, of: kind.route, to: kind.destination)
                        switch turn {
                        case .free, .inLine: isHead = turn == .free
                        case .blocked: if holder == nil { return }
                        case .superseded(let newer):
                            let isMerged = kind.route.mergesPayloads
                            guard self.isNamed(newer) || isNamed && !isMerged else { return }
                            // What may not be sent by itself is not sent with another one either.
                            if isMerged, !eligibility(of: name, kind).mayBeMerged(gate: name.gate) { return }
                            return pass.superseded.append(
                                Pass.Superseded(entry: entry, newer: newer, sequence: sequence, isMerged: isMerged))
                        }
                        if holder != nil {
                            if isNamed, eligibility(of: name, kind) == .due { pass.heldBehindFailed += 1 }
                            return
                        }
                    }
                }
                guard isNamed else { return }
                func candidate() -> Candidate {
                    let entry = Entry(state: state, name: EntryName(name))
                    return Candidate(entry: entry, destination: kind.destination, sequence: sequence, isHead: isHead)
                }
                switch eligibility(of: name, kind) {
                case .held: break
                case .deferred(let until):
                    pass.waiting += 1
                    pass.mayComeDue(until)
                case .due:
                    let destination: RunDestination
                    if let opened = kind.opened {
                        destination = opened
                    } else {
                        destination = open(kind)
                        kind.opened = destination
                        destinations[kind.destination.digest] = destination
                    }
                    if destination.isClosed {
                        if let lifetime = kind.route.expiresAfter, name.createdAt.isOfSetClock,
                            name.createdAt + lifetime <= now
                        {
                            if pass.expired.count < options.limit {
                                pass.expired.append(candidate())
                            } else {
                                pass.leftExpired += 1
                            }
                            return
                        }
                        destination.skipped += 1
                        guard let block = destination.block, let until = block.until else { return }
                        pass.mayComeDue(until)
                        if block.reason != .held { pass.waiting += 1 }
                        return
                    }
                    destination.offered += 1
                    pass.leftDue += 1
                    guard kind.reach.contains(name.createdAt) else { return }
                    let candidate = candidate()
                    kind.reach = selection.offer(
                        candidate.entry.name, destination: kind.destination.digest, element: candidate)
                }
            }
            if state == .new { pass.foreign = foreign }
        }
        let chosen = selection.chosen()
        pass.chosen = chosen.map(\.element)
        let byDestination = Dictionary(grouping: chosen, by: \.destination)
        for (digest, destination) in destinations where destination.offered > byDestination[digest]?.count ?? 0 {
            let newest = selection.newest(of: digest, besides: byDestination[digest] ?? [])
            destination.newest = newest.map(\.element).filter(\.isHead)
        }
        if let census { try confirm(&pass, destinations.values, census, &kinds) }
        pass.leftDue -= pass.chosen.count
        for candidate in pass.chosen { destinations[candidate.destination.digest]?.chosen += 1 }
        pass.cost = clock.instant() - pass.began
        return pass
    }

    /// Takes out what would overtake an operation that only one of two listings has seen. It is left due, for the next pass.
    private func confirm(
        _ pass: inout Pass, _ destinations: some Collection<RunDestination>, _ census: Census,
        _ kinds: inout OperationKinds
    ) throws(SpoolError) {
        func isInDoubt(_ sequence: SequenceKey?) -> Bool { sequence.map { !census.isSettled($0) } ?? false }
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

    // MARK: - Parts

    private func eligibility(of name: ListedName, _ kind: OperationKinds.Kind) -> Eligibility {
        // `--now` is for what waited before this run: what the run itself has deferred waits like everything else, or it
        // would go round in circles.
        let ignoresBackoff = options.ignoresBackoff && (deferred.isEmpty || !deferred.contains(name.id))
        let ignoresAll = ignoresBackoff && options.ids != nil && isNamed(name)
        let eligibility = Policy.eligibility(
            of: name, at: now, longestDelay: kind.longestDelay, ignoringBackoff: ignoresBackoff,
            ignoringNotBefore: ignoresAll)
        // It waits for a witness, and those of its sequence behind it; all others go on.
        if let parked = kind.parked, !ignoresAll, eligibility == .due, parked[name.id] != nil { return .held }
        return eligibility
    }

    private func isNamed(_ name: ListedName) -> Bool { options.ids == nil || isNamed(name.id) }

    private func isNamed(_ id: OperationID) -> Bool { options.ids?.contains(id) ?? true }

    private func isSetAside(_ name: ListedName) -> Bool {
        !setAside.isEmpty && setAside.contains(name.id)
    }
}
