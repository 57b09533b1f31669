package import Policy
package import Spool

/// The choice of operations for one pass: what is attempted, in which order, and what each operation waits for.
///
/// `run` and `send` first take the sequence lock and recover dead runs (`SpoolRun.takeSequenceLock`). If operations may
/// wait for each other, the queue is listed twice under the names lock, because the turn of one depends on all others.
/// A third listing decides where the two differ.
package struct Chooser {
    let spool: SpoolDirectory
    let configuration: Configuration
    let options: RunOptions
    let now: Timestamp
    let authority: Authority
    /// The runs that share the operations without an order.
    let peers: Peers
    /// Operations that this run could not read or settle.
    private let setAside: Set<OperationID>
    /// Operations that this run has deferred.
    private let deferred: Set<OperationID>
    /// Groups whose operations cannot be merged, and which this run sends one after the other.
    private let apart: Set<SequenceKey>
    var kinds: OperationKinds
    /// `nil` if no route sends kept values.
    let kept: KeptLookup?
    /// `nil` if the caller sends nothing. Expiries are then not looked up.
    let expiries: OwnExpiries?

    /// The authority of a listing over the order.
    package enum Authority {
        /// This process has the sequence lock. It lists under the names lock, and decides the order.
        case hasSequenceLock
        /// The caller only shows the order.
        case showsOnly
        /// The listing decides nothing: another run has the sequence lock, the names lock was not free in time, or no
        /// route has an order. Operations that have an order are left to another run or pass.
        case undecided
    }

    package init(
        spool: SpoolDirectory, configuration: Configuration, destinations: DestinationTable,
        options: RunOptions = RunOptions(), now: Timestamp, authority: Authority, setAside: Set<OperationID> = [],
        deferred: Set<OperationID> = [], apart: Set<SequenceKey> = [],
        waits: [Digest: DestinationWaits] = [:], peers: Peers = .none, expiries: OwnExpiries? = nil
    ) {
        self.peers = peers
        self.apart = apart
        self.expiries = expiries
        kept = configuration.sendsKeptValues ? KeptLookup(spool) : nil
        self.spool = spool
        self.configuration = configuration
        self.options = options
        self.now = now
        self.authority = configuration.hasSequentialRoutes ? authority : .undecided
        self.setAside = setAside
        self.deferred = deferred
        kinds = OperationKinds(configuration, destinations, options, waits: waits, ranks: peers.count)
    }

    /// The longest wait of a listing for the names lock. Holders other than listings keep it for milliseconds.
    static let patience: Duration = .seconds(5)

    // MARK: - Whose turn it is

    /// Returns the order of operations that wait for each other; `nil` if no route has one, or if another run decides.
    package mutating func precedence() throws(SpoolError) -> Precedence? {
        var kinds = kinds
        defer { self.kinds = kinds }
        switch authority {
        case .undecided: return nil
        case .showsOnly: return try takePrecedence(nil, &kinds).precedence
        case .hasSequenceLock:
            return try spool.withNamesLock(patience: Self.patience) { () throws(SpoolError) in
                try takePrecedence(nil, &kinds).precedence
            }
        }
    }

    /// Returns the failed operations that hold the operations behind them. Reads names, and lists `failed/` if a route
    /// asks for that.
    package mutating func failedSequences() throws(SpoolError) -> FailedSequences {
        var kinds = kinds
        defer { self.kinds = kinds }
        return try failedSequences(&kinds)
    }

    func failedSequences(_ kinds: inout OperationKinds) throws(SpoolError) -> FailedSequences {
        var failed = FailedSequences()
        guard configuration.holdsBehindFailed else { return failed }
        for state in [QueueState.failed, .quarantine] {
            try spool.forEachName(in: state) { name, _ in
                let kind = kinds.kind(of: name)
                if kind.route.holdsBehindFailed { failed.note(EntryName(name), of: kind.route, to: kind.destination) }
            }
        }
        return failed
    }

    /// Returns the order, and how many files have no name yet and may belong before any operation: foreign ones in
    /// `new/`, and those that a run left in `claimed/`.
    ///
    /// `cut` has the operations that this pass may send; without it, the pass may send each that is listed. `own` is an
    /// operation that this process has claimed to send it.
    func takePrecedence(
        _ cut: borrowing Cut?, own: OperationID? = nil, _ kinds: inout OperationKinds
    ) throws(SpoolError) -> (precedence: Precedence, unnamed: (new: Int, claimed: Int)) {
        var precedence = Precedence(apart: apart)
        var unnamed = (new: 0, claimed: 0)
        repeat {
            let listed = try spool.forEachStandingName { name, state in
                let kind = kinds.kind(of: name)
                guard kind.isSequential else { return }
                let standing: Precedence.Standing =
                    if state == .claimed, name.id == own {
                        .waiting(.due)
                    } else if state == .claimed || !kind.isAskedFor || isSetAside(name) {
                        .untouchable
                    } else if !(cut?.has(name.id) ?? true) {
                        .late(eligibility(of: name, kind))
                    } else if isNamed(name) {
                        .waiting(eligibility(of: name, kind))
                    } else {
                        .passedOver(eligibility(of: name, kind))
                    }
                precedence.note(name, standing, of: kind.route, to: kind.destination, mark: name.mark)
            }
            unnamed = (max(unnamed.new, listed.new), max(unnamed.claimed, listed.claimed))
        } while precedence.needsAnotherListing()
        return (precedence, unnamed)
    }

    /// Whether an operation that this process has claimed may be sent. False if an older one of its sequence waits, is
    /// in flight, or has failed and holds it, if a newer one supersedes it, and while a file has no name yet, which may
    /// be such a one.
    package mutating func isFirst(_ name: EntryName) throws(SpoolError) -> Bool {
        var kinds = kinds
        defer { self.kinds = kinds }
        return try spool.withNamesLock(patience: Self.patience) { () throws(SpoolError) in
            let kind = kinds.kind(of: name)
            guard kind.route.sequence(of: name, to: kind.destination) != nil else { return true }
            var (precedence, unnamed) = try takePrecedence(nil, own: name.id, &kinds)
            // A run removes what it supersedes before it is sent.
            guard unnamed == (0, 0), precedence.position(of: name, of: kind.route, to: kind.destination) == .free,
                !precedence.supersedesOthers(name, of: kind.route, to: kind.destination)
            else { return false }
            return try failedSequences(&kinds).holder(of: name, of: kind.route, to: kind.destination) == nil
        }
    }

    // MARK: - Parts

    func eligibility(of name: ListedName, _ kind: OperationKinds.Kind) -> Eligibility {
        // `--now` overrides only waits from before this run. An operation that this run deferred waits as usual, or the
        // run would repeat it without end.
        let ignoresBackoff = options.ignoresBackoff && (deferred.isEmpty || !deferred.contains(name.id))
        let ignoresAll = ignoresBackoff && options.ids != nil && isNamed(name)
        let eligibility = Policy.eligibility(
            of: name, at: now, longestDelay: kind.longestDelay, ignoringBackoff: ignoresBackoff,
            ignoringNotBefore: ignoresAll)
        // A parked operation waits for a witness, with those of its sequence behind it. All others go on.
        if !kind.parked.isEmpty, !ignoresAll, eligibility == .due, kind.parked[name.id] != nil { return .held }
        // An operation without its kept value waits for an answer, with those of its sequence behind it.
        if eligibility == .due, lack(EntryName(name), kind.keptNames, kind.route) != nil { return .held }
        return eligibility
    }

    func isNamed(_ name: ListedName) -> Bool { options.ids == nil || isNamed(name.id) }

    func isNamed(_ id: OperationID) -> Bool { options.ids?.contains(id) ?? true }

    func isSetAside(_ name: ListedName) -> Bool {
        !setAside.isEmpty && setAside.contains(name.id)
    }
}
