package import Policy
import Spool

/// The choice of operations for one pass: what is attempted, in which order, by what a `QueueView` says of each.
///
/// `run` and `send` first take the sequence lock and recover dead runs (`SpoolRun.takeSequenceLock`). If operations may
/// wait for each other, the queue is listed twice under the names lock, because the turn of an operation depends on all
/// others. A third listing decides where the two differ.
package struct Chooser {
    let authority: Authority
    /// The runs that share the operations without an order.
    let peers: Peers
    /// `nil` if the caller sends nothing. Expiries are then not looked up.
    let expiries: OwnExpiries?

    /// The authority of a listing over the order.
    package enum Authority {
        /// This process has the sequence lock. It lists under the names lock, and decides the order.
        case hasSequenceLock
        /// The caller only shows the order.
        case showsOnly
        /// The listing decides nothing: another run has the sequence lock, the names lock was not free in time, or no
        /// route has an order. Operations with an order are left to another run or pass.
        case undecided
    }

    package init(_ authority: Authority, peers: Peers = .none, expiries: OwnExpiries? = nil) {
        self.authority = authority
        self.peers = peers
        self.expiries = expiries
    }

    /// The findings of one listing so far.
    struct Listing {
        var pass: Pass
        var view: QueueView
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
    }

    /// Lists the waiting operations and chooses up to `budget` due ones. Calls `open` once for each kind with a due or
    /// expired operation.
    func choose(
        _ view: QueueView, budget: Int, of cut: borrowing Cut? = nil, clock: RunClock,
        open: (OperationKinds.Kind) -> RunDestination
    ) throws(SpoolError) -> Pass {
        var listing = Listing(
            pass: Pass(began: clock.instant()), view: view,
            selection: SharedSelection(limit: budget, ranks: peers.count), passedOver: PassedOver(at: view.now))
        let authority = view.configuration.hasSequentialRoutes ? authority : .undecided
        guard case .hasSequenceLock = authority else {
            try list(&listing, authority, cut, open)
            return listing.end(clock)
        }
        try view.spool.withNamesLock(patience: QueueView.patience) { () throws(SpoolError) in
            try list(&listing, authority, cut, open)
        }
        return listing.end(clock)
    }
}

extension Chooser.Listing {
    fileprivate mutating func end(_ clock: RunClock) -> Pass {
        pass.errors += view.errors
        pass.leftDue -= pass.chosen.count
        for candidate in pass.chosen { destinations[candidate.destination.digest]?.chosen += 1 }
        pass.cost = clock.instant() - pass.began
        return pass
    }
}
