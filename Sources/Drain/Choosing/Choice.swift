import Policy
import Spool

/// The choice of what a run attempts next: lists the queue with what the run knows about destinations and operations.
struct Choice: ~Copyable {
    /// The authority of a listing over the order.
    enum Authority {
        /// The listing takes the names lock and the sequence locks of destinations, and decides their order. Operations
        /// with an order of other destinations are left to other runs.
        case decides(SpoolRun)
        /// The caller only shows the order.
        case showsOnly
        /// The listing decides nothing: the names lock was not free in time, or no type sent by the run has an order.
        /// Operations with an order are left to another run or pass.
        case undecided

        var isPlanning: Bool { if case .showsOnly = self { true } else { false } }
        var decidesOrder: Bool { if case .decides = self { true } else { false } }
    }

    private let parts: RunParts
    private let expiries = OwnExpiries()
    /// The reported errors of listings: a later listing meets them again.
    private var toldErrors: Set<SpoolError> = []
    /// How many times a pass admits up to `SpoolRun.admissionSize` foreign files.
    private static let admissions = 10

    init(_ parts: RunParts) {
        self.parts = parts
    }

    private var tally: RunTally { parts.tally }

    // MARK: - A pass

    /// Lists and chooses. If the listing has foreign files, makes a cut, admits them, and decides an order only for the
    /// operations of the cut. While one of the files cannot be named, only operations without an order are chosen.
    mutating func pass(budget: Int, _ settling: borrowing Settling) throws(SpoolError) -> Pass {
        let spoolRun = settling.spoolRun
        // A user who names operations wants all of them now, not only this run's share.
        let otherRuns = try spoolRun.otherRuns
        parts.book.share(with: otherRuns.count + 1)
        let peers = parts.options.ids == nil ? Peers(of: spoolRun.name, others: otherRuns) : .none
        let authority: Authority = asksForSequences ? .decides(spoolRun) : .undecided
        (tally.summary.leftForeign, tally.summary.conditions) = (false, nil)
        let pass = try choose(budget: budget, authority, peers, settling.operations)
        if pass.foreign == 0 { return pass }
        // Until they are admitted: a signal may come before.
        tally.summary.leftForeign = true
        let configuration = parts.configuration
        var cut = try parts.spool.cut(patience: QueueView.patience) {
            configuration.route(of: TypeName($0)).isSequential
        }
        var errors: [SpoolError] = []
        let isNamed = try admit(&cut, settling, &errors) && cut.isWhole
        var named = try choose(
            budget: budget, isNamed ? authority : .undecided, peers, settling.operations, of: consume cut)
        named.undecidedBecause = named.undecidedBecause ?? errors.first?.description
        return named
    }

    /// Whether any type sent by the run has an order.
    private var asksForSequences: Bool {
        parts.options.types.isEmpty
            ? parts.configuration.hasSequentialRoutes
            : parts.options.types.contains { parts.configuration.route(of: $0).isSequential }
    }

    /// Admits foreign files, but leaves the pass time to deliver: the rest waits for the next pass. Returns whether
    /// each file that was there has its name, or is in quarantine.
    private func admit(
        _ cut: inout Cut, _ settling: borrowing Settling, _ errors: inout [SpoolError]
    ) throws(SpoolError) -> Bool {
        for _ in 0..<Self.admissions where parts.world.clock.signals().count == 0 {
            var control = AdmissionControl(parts.configuration)
            let admission = try settling.spoolRun.admitForeign(now: parts.world.now(), within: &control)
            cut.take(admission)
            errors += admission.errors
            // First: a value may have replaced an older one, and then have been evicted itself.
            for older in admission.superseded { settling.noteSuperseded(older.entry.name, by: older.newer) }
            tally.count(admission, parts.book.table)
            if !tally.summary.leftForeign { return admission.errors.isEmpty }
        }
        return false
    }

    // MARK: - A listing

    /// Lists the waiting operations and chooses up to `budget` due ones, in dispatch order. With peers, chooses from
    /// this run's share first. With a cut, chooses no operation that has an order and came after it.
    mutating func choose(
        budget: Int, _ authority: Authority, _ peers: Peers = .none, _ operations: OperationBook = OperationBook(),
        of cut: borrowing Cut? = nil
    ) throws(SpoolError) -> Pass {
        let now = parts.world.now()
        let isPlanning = authority.isPlanning
        try parts.book.read(now)
        if !isPlanning {
            try parts.book.tellDamage()
            try parts.book.lookAtTroubles(now)
        }
        parts.conditions.look(isPlanning: isPlanning)
        let budget = isPlanning ? budget : min(budget, parts.options.portion)
        do throws(SpoolError) {
            return try list(budget, authority, peers, operations, now, cut)
        } catch let error where authority.decidesOrder {
            // Another process has the names lock, or the order cannot be read. Only operations with an order are
            // delayed.
            if toldErrors.insert(error).inserted { tally.inputOutput(error) }
            var pass = try list(budget, .undecided, peers, operations, now, cut)
            pass.undecidedBecause = error.description
            return pass
        }
    }

    private mutating func list(
        _ budget: Int, _ authority: Authority, _ peers: Peers, _ operations: OperationBook, _ now: Timestamp,
        _ cut: borrowing Cut?
    ) throws(SpoolError) -> Pass {
        let (book, conditions, sender) = (parts.book, parts.conditions, parts.sender)
        let view = QueueView(
            parts.spool, parts.configuration, book.table, parts.options, now, waits: book.waits(now), operations,
            peers)
        let clock = parts.world.clock
        var listing = Listing(view, budget: budget, authority, peers, expiries, began: clock.instant()) { kind in
            let destination = book.destination(kind.destination, now)
            conditions.apply(to: destination)
            if !destination.isBlocked, !authority.isPlanning { sender.prepare(for: kind.route, destination) }
            return destination
        }
        let pass = try listing.choose(of: cut, clock)
        for error in pass.errors where toldErrors.insert(error).inserted { tally.inputOutput(error) }
        return pass
    }
}
