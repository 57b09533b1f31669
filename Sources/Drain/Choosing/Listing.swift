import Policy
import Spool

/// One whole listing of the queue, and the choice from it: what is attempted, in which order. A `QueueView` says the
/// standing of each operation.
///
/// `run` and `send` first take the sequence lock and recover dead runs (`SpoolRun.takeSequenceLock`). If operations may
/// wait for each other, the queue is listed twice under the names lock, because the turn of an operation depends on all
/// others. A third listing decides where the two differ.
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

    var options: RunOptions { view.options }
    /// The most expired operations settled by a pass.
    var mostExpired: Int { min(options.limit, options.portion) }

    /// `budget` is the most operations to choose.
    init(
        _ view: QueueView, budget: Int, _ authority: Choice.Authority, _ peers: Peers = .none,
        _ expiries: OwnExpiries? = nil, began: ContinuousClock.Instant,
        open: @escaping (OperationKinds.Kind) -> RunDestination
    ) {
        pass = Pass(began: began)
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
        if case .hasSequenceLock = authority {
            try view.spool.withNamesLock(patience: QueueView.patience) { () throws(SpoolError) in try list(cut) }
        } else {
            try list(cut)
        }
        pass.errors += view.errors
        pass.leftDue -= pass.chosen.count
        for candidate in pass.chosen { destinations[candidate.destination.digest]?.chosen += 1 }
        pass.cost = clock.instant() - pass.began
        return pass
    }
}
