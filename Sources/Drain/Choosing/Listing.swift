import Policy
import Spool

/// One whole listing of the queue, and the choice from it: what is attempted, in which order. A `QueueView` says the
/// standing of each operation.
///
/// The run has recovered dead runs before. If operations may wait for each other, the queue is listed under the names
/// lock: the listing is a moment. It is read twice, because the turn of an operation depends on all others. It decides
/// the order of a destination whose sequence lock the process had before the listing began, and keeps the locks of
/// destinations with operations to be claimed.
struct Listing: ~Copyable {
    var pass: Pass
    var view: QueueView
    let authority: Choice.Authority
    /// The runs that share the operations without an order.
    let peers: Peers
    /// `nil` if expiries are not to be looked up.
    let expiries: OwnExpiries?
    /// Called once for each kind with a due or expired operation.
    let open: (OperationKinds.Kind) -> RunDestination
    var selection: SharedSelection<Digest, Candidate>
    /// The destinations with a due or expired operation.
    var destinations: [Digest: RunDestination] = [:]
    /// Whether the listing decides the order.
    var hasOrder = false
    /// Operations whose files may say that they have expired.
    var passedOver: PassedOver
    /// The operations of merging kinds that this pass does not attempt. The parts of their documents wait too.
    var waitingCarriers: Set<OperationID> = []
    /// The operations that wait for a kept value.
    var lacking: [LackingOperation] = []

    var options: RunOptions { view.options }
    /// The most expired operations settled by a pass.
    var mostExpired: Int { min(options.limit, options.portion) }

    /// `budget` is the most operations to choose.
    init(
        _ view: QueueView, budget: Int, _ authority: Choice.Authority, _ peers: Peers = .none,
        _ expiries: OwnExpiries? = nil, began: ContinuousClock.Instant,
        open: @escaping (OperationKinds.Kind) -> RunDestination
    ) {
        pass = Pass(moment: view.now, began: began)
        self.view = view
        self.authority = view.configuration.hasSequentialRoutes ? authority : .undecided
        self.peers = peers
        self.expiries = expiries
        self.open = open
        selection = SharedSelection(limit: budget, ranks: peers.count)
        passedOver = PassedOver(at: view.now)
    }

    /// Lists the waiting operations and chooses due ones. With a cut, chooses no operation that has an order and came
    /// after it.
    mutating func choose(of cut: borrowing Cut?, _ clock: RunClock) throws(SpoolError) -> Pass {
        if case .decides(let run) = authority {
            try view.spool.withNamesLock(patience: QueueView.patience) { () throws(SpoolError) in
                try list(cut, clock)
                // The end of the pass settles claims that this pass has set aside.
                if !run.hasOpenClaims { run.sequences.release(besides: ordered) }
            }
        } else {
            try list(cut, clock)
        }
        pass.errors += view.errors
        pass.leftDue -= pass.chosen.count
        for candidate in pass.chosen { destinations[candidate.destination.digest]?.chosen += 1 }
        return pass
    }

    /// The destinations with an order whose operations this pass may claim.
    private var ordered: Set<Digest> {
        let candidates = pass.chosen + pass.expired + destinations.values.flatMap(\.newest)
        return Set(candidates.lazy.filter { $0.sequence != nil }.map(\.destination.digest))
            .union(pass.superseded.lazy.map(\.sequence.destination))
    }

    /// Reads the order, under the locks of the destinations that have one. If a lock is new, reads once more: another
    /// run may have moved an operation from a directory that was not read yet to one that was. Returns the counts of
    /// `QueueView.readOrder`.
    mutating func readOrder(_ cut: borrowing Cut?) throws(SpoolError) -> (new: Int, claimed: Int) {
        guard case .decides(let run) = authority else { return try view.readOrder(cut) }
        let locks = run.sequences
        view.kinds.meetRoutes(of: view.configuration)
        _ = take(locks)
        var unnamed = try view.readOrder(cut)
        if take(locks) { unnamed = try view.readOrder(cut) }
        for kind in view.kinds.ordered { kind.isDecided = locks.has(kind.destination.digest) }
        return unnamed
    }

    /// Takes the locks of the destinations met with an order. Returns whether one of them is new.
    private mutating func take(_ locks: SequenceLocks) -> Bool {
        var hasNew = false
        for kind in view.kinds.ordered where !locks.has(kind.destination.digest) {
            do throws(SpoolError) {
                if try locks.take(kind.destination.digest) { hasNew = true }
            } catch {
                if !pass.errors.contains(error) { pass.errors.append(error) }
            }
        }
        return hasNew
    }
}
