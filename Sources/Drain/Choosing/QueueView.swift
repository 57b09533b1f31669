package import Policy
package import Spool

/// The reader of order: says of each waiting operation whether a run may send it, what it waits for, or which newer
/// operation takes its place. A run decides by this view, and `send`, `list`, `show`, `status`, `wait` and `retry` ask
/// the same view.
///
/// Reads names, the kept values of chains, and the files of operations whose route has a `chain`. The methods called
/// for each name are `mutating`, although few change anything: Swift copies the structure for nonmutating methods.
package struct QueueView {
    let spool: SpoolDirectory
    let configuration: Configuration
    let options: RunOptions
    let now: Timestamp
    var kinds: OperationKinds
    private let isPaused: Bool
    /// Operations that the run could not read or settle, and operations whose claims went to other runs.
    private let setAside: Set<OperationID>
    /// Operations deferred by the run.
    private let deferred: Set<Age>
    /// Operations held by the run, because their outcome is unknown.
    private let ambiguous: Set<Age>
    /// Groups whose operations cannot be merged. The run sends them singly, in order.
    private let apart: Set<SequenceKey>
    /// `nil` if no route sends kept values.
    private let kept: KeptLookup?
    /// The order of the operations that wait for each other; `nil` before it is read.
    private(set) var precedence: Precedence?
    private var failed = FailedSequences()

    /// Makes the view of `send` or of an operator's command: both know operations only by their files.
    package init(
        _ spool: SpoolDirectory, _ configuration: Configuration, _ destinations: DestinationTable,
        options: RunOptions = RunOptions(), at now: Timestamp
    ) {
        self.init(spool, configuration, destinations, options, now, waits: [:], OperationBook(), Peers.none)
    }

    /// Makes the view of a run. `operations` is the run's record of single operations. Without `known` the view leaves
    /// the state of destinations to the run.
    init(
        _ spool: SpoolDirectory, _ configuration: Configuration, _ destinations: DestinationTable,
        _ options: RunOptions, _ now: Timestamp, waits: [Digest: DestinationWaits], _ operations: OperationBook,
        _ peers: Peers, _ known: KnownDestinations? = nil, isPaused: Bool = false
    ) {
        self.spool = spool
        self.configuration = configuration
        self.options = options
        self.now = now
        self.isPaused = isPaused
        setAside = operations.setAside.union(operations.claimsLost).union(operations.withheld)
        (deferred, ambiguous) = (operations.deferred, operations.ambiguous)
        apart = operations.apart
        kept = configuration.sendsKeptValues ? KeptLookup(spool) : nil
        kinds = OperationKinds(
            configuration, destinations, options, waits: waits, known, at: now, ranks: peers.count)
    }

    /// Makes the view of a command that shows what a run would do now. Takes no lock. `named`: the only operations for
    /// the run to send.
    package init(
        _ spool: SpoolDirectory, _ configuration: Configuration, _ known: KnownDestinations, at now: Timestamp,
        named: [OperationID]? = nil
    ) throws(SpoolError) {
        self.init(
            spool, configuration, known.table, RunOptions(ids: named.map { Set($0) }), now, waits: known.waits(at: now),
            OperationBook(), .none, known, isPaused: try spool.isPaused)
        failed = known.failed
        if configuration.hasSequentialRoutes { _ = try listOrder() }
    }

    /// The errors met in reading kept values. Operations whose values cannot be read wait as if they lacked them.
    var errors: [SpoolError] { kept?.errors ?? [] }

    // MARK: - Reading the order

    /// The longest wait of a listing for the names lock. All holders but listings keep the lock for milliseconds.
    static let patience: Duration = .seconds(5)

    /// Lists the order, and the dead letters that hold other operations. A caller deciding by the order has the names
    /// lock.
    ///
    /// Returns how many files have no name yet and may belong before any operation: foreign files in `new/`, and files
    /// left by a run in `claimed/`. `cut` has the operations that a pass may send; without a cut the pass may send each
    /// listed operation. `own` is an operation claimed by this process for sending.
    mutating func readOrder(
        _ cut: borrowing Cut? = nil, own: OperationID? = nil
    ) throws(SpoolError) -> (new: Int, claimed: Int) {
        failed = try failedSequences()
        return try listOrder(cut, own: own)
    }

    private mutating func listOrder(
        _ cut: borrowing Cut? = nil, own: OperationID? = nil
    ) throws(SpoolError) -> (new: Int, claimed: Int) {
        let spool = spool
        // `--now` overrides the wait for newer values, too.
        var precedence = Precedence(
            apart: apart, mergesInLines: configuration.mergesInLines,
            at: options.ignoresBackoff && options.ids == nil ? nil : now)
        var unnamed = (new: 0, claimed: 0)
        repeat {
            let listed = try spool.forEachStandingName { name, state in
                let kind = kinds.kind(of: name)
                guard kind.order.isSequential else { return }
                // An operation that is held behind a dead letter keeps back a newer one that replaces the dead letter.
                let turn = holder(of: name, kind) == nil ? eligibility(of: name, kind) : .held
                let standing: Precedence.Standing =
                    if state == .claimed, name.id == own {
                        .waiting(.due)
                    } else if state == .claimed || !kind.isAskedFor || isSetAside(name) {
                        .untouchable
                    } else if !(cut?.has(name.id) ?? true) {
                        .late(turn)
                    } else if isNamed(name) {
                        .waiting(turn)
                    } else {
                        .passedOver(turn)
                    }
                precedence.note(name, standing, of: kind.order, to: kind.destination, mark: name.mark)
            }
            unnamed = (max(unnamed.new, listed.new), max(unnamed.claimed, listed.claimed))
        } while precedence.beginSecondListing()
        self.precedence = precedence
        return unnamed
    }

    /// Returns the failed operations that hold the operations behind them. Reads names, and lists `failed/` if a route
    /// asks for that.
    mutating func failedSequences() throws(SpoolError) -> FailedSequences {
        let spool = spool
        var failed = FailedSequences()
        guard configuration.holdsBehindFailed else { return failed }
        for state in [QueueState.failed, .quarantine] {
            var holders: [(entry: Entry, kind: OperationKinds.Kind)] = []
            try spool.forEachName(in: state) { name, _ in
                let kind = kinds.kind(of: name)
                if kind.order.holdsBehindFailed { holders.append((Entry(state: state, name: EntryName(name)), kind)) }
            }
            for (entry, kind) in holders where holders.count > Self.mostRead || !hasExpired(entry, kind) {
                failed.note(entry.name, of: kind.order, to: kind.destination)
            }
        }
        return failed
    }

    /// The most dead letters that a listing opens. If there are more, expired ones hold their sequences, too.
    private static let mostRead = 10_000

    /// Whether a dead letter failed because its time was over: no request of the operation has failed, and it holds no
    /// sequence. Its last record says so, unless a later failure left no record. An operation whose own time was over
    /// comes back only with a later `expiresAt`.
    private func hasExpired(_ entry: Entry, _ kind: OperationKinds.Kind) -> Bool {
        // try?: what cannot be read holds its sequence.
        guard entry.state == .failed, case .operation(let stored)? = try? spool.read(entry),
            let last = stored.operation.attempts.last, last.ruleCode == .expired
        else { return false }
        if stored.operation.header.expiresAt == nil { return true }
        return Settlement.decide(onExpiryOf: stored.operation, route: kind.route, now: last.at) != nil
    }

    // MARK: - The operations of the run

    mutating func isNamed(_ name: ListedName) -> Bool { options.ids == nil || isNamed(name.id) }

    func isNamed(_ id: OperationID) -> Bool { options.ids?.contains(id) ?? true }

    /// Whether the run has deferred an operation, or has held it and it is still held.
    func isOfRun(_ name: ListedName) -> Bool {
        !deferred.isEmpty && deferred.contains(Age(name)) || name.isHeld && ambiguous.contains(Age(name))
    }

    mutating func isSetAside(_ name: ListedName) -> Bool {
        !setAside.isEmpty && setAside.contains(name.id)
    }

    /// Returns what an operation waits for by itself; `nil` if for nothing.
    mutating func ownWait(of name: some SequencedName, _ kind: OperationKinds.Kind) -> WaitReason? {
        // `--now` overrides only waits from before this run. An operation deferred by this run waits as usual, or the
        // run would repeat the operation without end.
        let ignoresBackoff = options.ignoresBackoff && (deferred.isEmpty || !deferred.contains(Age(name)))
        let ignoresAll = ignoresBackoff && (options.ids?.contains(name.id) ?? false)
        switch Policy.eligibility(
            of: name, at: now, longestDelay: kind.longestDelay, ignoringBackoff: ignoresBackoff,
            ignoringNotBefore: ignoresAll)
        {
        case .held: return .person
        case .deferred(let until): return .time(until)
        case .due: break
        }
        if !kind.keptNames.isEmpty, let lack = lack(name, kind) { return .kept(lack) }
        if !kind.parked.isEmpty, !ignoresAll, let until = kind.parked[Age(name)] { return .witness(until: until) }
        return nil
    }

    mutating func chain(of entry: Entry) -> KeptLookup.Chain {
        kept?.chain(of: entry.name, kinds.kind(of: entry.name).route) ?? .unknown
    }

    /// Returns the name of a kept value that an operation lacks; `nil` if it has all.
    ///
    /// Also returns `nil` if the operation's chain is unknown: the attempt then finds what is missing.
    private func lack(_ name: some SequencedName, _ kind: OperationKinds.Kind) -> String? {
        guard let kept, case .of(let chain) = kept.chain(of: name, kind.route) else { return nil }
        return kept.lack(of: kind.keptNames, for: chain)
    }

    /// Returns whether an operation may be attempted now, whatever its sequence and destination allow. Parked
    /// operations, and operations without a needed kept value, wait like held ones and keep back their sequences.
    mutating func eligibility(of name: some SequencedName, _ kind: OperationKinds.Kind) -> Eligibility {
        Eligibility(ownWait(of: name, kind))
    }
}

extension Eligibility {
    fileprivate init(_ own: WaitReason?) {
        switch own {
        case nil: self = .due
        case .time(let until): self = .deferred(until: until)
        default: self = .held
        }
    }
}

/// The answers of a view whose order has been read.
extension QueueView {
    /// The standing of a waiting operation.
    enum Standing: Hashable {
        /// A run may send the operation. `isHead`: no operation of its sequence stands before it.
        case due(isHead: Bool)
        case waits(WaitReason)
        /// A newer operation of its key supersedes it.
        case superseded(by: OperationID)
        /// The request of a newer operation of its key carries its changes.
        case part(of: OperationID)

        /// The wait reason; `nil` if a run may send the operation.
        var wait: WaitReason? {
            switch self {
            case .due: nil
            case .waits(let reason): reason
            case .superseded(let newer): .newer(newer)
            case .part(let newer): .merged(newer)
            }
        }
    }

    /// Returns the standing of a waiting operation.
    mutating func standing(of name: some SequencedName, _ kind: OperationKinds.Kind) -> Standing {
        var position = Precedence.Position.free
        if kind.order.isSequential, precedence != nil {
            position = precedence!.position(of: name, of: kind.order, to: kind.destination)
        }
        var end = precedence?.debounceEnd(of: name, of: kind.order, to: kind.destination)
        if end != nil, let ids = options.ids {
            let newest = if case .superseded(let newer) = position { newer } else { name.id }
            // A user who names the newest value wants that value sent now: the older values go first.
            if ids.contains(newest) { end = nil }
        }
        if case .superseded(let newer) = position, !kind.order.mergesPayloads {
            // The newer value may wait for as long as the older one allows.
            return end == nil ? .superseded(by: newer) : .waits(.newer(newer))
        }
        var own = ownWait(of: name, kind)
        // An operation that must not be sent by itself is not merged either.
        if case .superseded(let newer) = position, Eligibility(own).mayBeMerged(gate: name.gate) {
            return end == nil ? .part(of: newer) : .waits(.merged(newer))
        }
        if let end, own == nil { own = .newest(until: end) }
        if own == .person { return .waits(.person) }
        if let failed = holder(of: name, kind) { return .waits(.failed(failed)) }
        if case .blocked(let older) = position { return .waits(.older(older)) }
        let isHead = if case .free = position { true } else { false }
        if let block = kind.block, block.stops(attempts: Self.attempts(of: name, isHead: isHead)) {
            switch own {
            case nil, .witness: return .waits(.destination(block))
            case .time(let until), .newest(let until):
                if block.until.map({ $0 >= until }) ?? true { return .waits(.destination(block)) }
            default: break
            }
        }
        if own == nil, let refusal = kind.refusal { return .waits(.conditions(refusal)) }
        return own.map { .waits($0) } ?? .due(isHead: isHead)
    }

    /// Returns the attempts of an operation as an open circuit breaker counts them: an operation behind others of its
    /// sequence goes when they have gone, whatever its own schedule allows.
    static func attempts(of name: some SequencedName, isHead: Bool) -> Int { isHead ? name.attempts : 0 }

    /// Returns the wait reason of an operation; `nil` if it is in flight or finished.
    package mutating func waiting(of entry: Entry) -> WaitReason? {
        guard entry.state == .new || entry.state == .deferred else { return nil }
        return standing(of: entry.name, kinds.kind(of: entry.name)).wait ?? (isPaused ? .resume : .nothing)
    }

    /// Returns why an operation claimed by this process waits for others; `nil` if it may be sent. `.nothing` leaves it
    /// to a run: the operation supersedes older ones, which a run removes first, or a file has no name yet, and may be
    /// an older operation. Reads the order under the names lock.
    mutating func waiting(claimed name: EntryName) throws(SpoolError) -> WaitReason? {
        let spool = spool
        return try spool.withNamesLock(patience: Self.patience) { () throws(SpoolError) in
            let kind = kinds.kind(of: name)
            guard kind.order.sequence(of: name, to: kind.destination) != nil else { return nil }
            let unnamed = try readOrder(own: name.id)
            switch standing(of: name, kind) {
            // The attempt says which value its request lacks.
            case .due(isHead: true), .waits(.kept):
                return unnamed == (0, 0) && !supersedesOthers(name, kind) ? nil : .nothing
            case let standing: return standing.wait ?? .nothing
            }
        }
    }

    /// Whether an operation is the newest of its key, and supersedes older ones or carries their changes.
    mutating func supersedesOthers(_ name: some SequencedName, _ kind: OperationKinds.Kind) -> Bool {
        kind.order.coalesces && precedence?.supersedesOthers(name, of: kind.order, to: kind.destination) ?? false
    }

    private mutating func holder(of name: some SequencedName, _ kind: OperationKinds.Kind) -> OperationID? {
        failed.isEmpty ? nil : failed.holder(of: name, of: kind.order, to: kind.destination)
    }
}
