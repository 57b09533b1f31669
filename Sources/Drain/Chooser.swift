package import Policy
package import Spool

/// Decides from listings what is attempted, in which order, and what each operation waits for. One for each pass.
///
/// `run` and `send` hold the sequence lock and have recovered dead runs (`SpoolRun.takeOrder`) before they ask. Where
/// operations wait for each other the queue is listed twice, under the names lock: whether one may go depends on all the
/// others. Where the two listings differ, a third one decides.
package struct Chooser {
    let spool: SpoolDirectory
    let configuration: Configuration
    let options: RunOptions
    let now: Timestamp
    let order: Order
    /// The runs that share what has no order.
    let peers: Peers
    /// Operations that this run could not read or settle.
    private let setAside: Set<OperationID>
    /// Operations that this run has deferred itself.
    private let deferred: Set<OperationID>
    /// Groups whose operations cannot be merged, and are sent one after the other in this run.
    private let apart: Set<SequenceKey>
    var kinds: OperationKinds
    /// `nil` where no route sends kept values.
    let kept: KeptLookup?
    /// `nil` where nothing is to be sent: expiries are then not looked up.
    let expiries: OwnExpiries?

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
        parked: [Digest: [OperationID: Timestamp]] = [:], peers: Peers = .none, expiries: OwnExpiries? = nil
    ) {
        self.peers = peers
        self.apart = apart
        self.expiries = expiries
        kept = configuration.sendsKeptValues ? KeptLookup(spool) : nil
        self.spool = spool
        self.configuration = configuration
        self.options = options
        self.now = now
        self.order = configuration.hasSequentialRoutes ? order : .elsewhere
        self.setAside = setAside
        self.deferred = deferred
        kinds = OperationKinds(configuration, destinations, options, parked: parked, ranks: peers.count)
    }

    /// How long a listing waits for the names lock. Each holder but a listing has it for milliseconds at a time.
    static let patience: Duration = .seconds(5)

    // MARK: - Whose turn it is

    /// Where operations stand that wait for each other; `nil` where none do, or where another run decides.
    package mutating func precedence() throws(SpoolError) -> Precedence? {
        var kinds = kinds
        defer { self.kinds = kinds }
        switch order {
        case .elsewhere: return nil
        case .shown: return try takePrecedence(&kinds)
        case .decided:
            return try spool.withNamesLock(patience: Self.patience) { () throws(SpoolError) in
                try takePrecedence(&kinds)
            }
        }
    }

    /// The operations that failed for good and hold those behind them. Only names are read, and those of `failed/` only
    /// where a route asks for it.
    package mutating func failedSequences() throws(SpoolError) -> FailedSequences {
        var kinds = kinds
        defer { self.kinds = kinds }
        return try failedSequences(&kinds)
    }

    func failedSequences(_ kinds: inout OperationKinds) throws(SpoolError) -> FailedSequences {
        var failed = FailedSequences()
        guard configuration.holdsBehindFailed else { return failed }
        try spool.forEachName(in: .failed) { name, _ in
            let kind = kinds.kind(of: name)
            if kind.route.holdsBehindFailed { failed.note(EntryName(name), of: kind.route, to: kind.destination) }
        }
        return failed
    }

    func takePrecedence(_ kinds: inout OperationKinds) throws(SpoolError) -> Precedence {
        var precedence = Precedence(apart: apart)
        repeat {
            try spool.forEachStandingName { name, state in
                let kind = kinds.kind(of: name)
                guard kind.isSequential else { return }
                let standing: Precedence.Standing =
                    if state == .claimed || !kind.isAskedFor || isSetAside(name) {
                        .outOfReach
                    } else if isNamed(name) {
                        .waiting(eligibility(of: name, kind))
                    } else {
                        .passedOver(eligibility(of: name, kind))
                    }
                precedence.note(name, standing, of: kind.route, to: kind.destination, mark: name.mark)
            }
        } while precedence.needsAnotherListing()
        return precedence
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

    // MARK: - Parts

    func eligibility(of name: ListedName, _ kind: OperationKinds.Kind) -> Eligibility {
        // `--now` is for what waited before this run: what the run itself has deferred waits like everything else, or it
        // would go round in circles.
        let ignoresBackoff = options.ignoresBackoff && (deferred.isEmpty || !deferred.contains(name.id))
        let ignoresAll = ignoresBackoff && options.ids != nil && isNamed(name)
        let eligibility = Policy.eligibility(
            of: name, at: now, longestDelay: kind.longestDelay, ignoringBackoff: ignoresBackoff,
            ignoringNotBefore: ignoresAll)
        // It waits for a witness, and those of its sequence behind it; all others go on.
        if let parked = kind.parked, !ignoresAll, eligibility == .due, parked[name.id] != nil { return .held }
        // It waits for an answer, and those of its sequence behind it.
        if eligibility == .due, lack(name.keyDigest, kind.keptNames) != nil { return .held }
        return eligibility
    }

    func isNamed(_ name: ListedName) -> Bool { options.ids == nil || isNamed(name.id) }

    func isNamed(_ id: OperationID) -> Bool { options.ids?.contains(id) ?? true }

    func isSetAside(_ name: ListedName) -> Bool {
        !setAside.isEmpty && setAside.contains(name.id)
    }
}
