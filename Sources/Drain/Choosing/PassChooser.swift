import Policy
import Spool

/// The choice of what a run attempts next: lists the queue with what the run knows about destinations and operations.
final class PassChooser {
    private let spool: SpoolDirectory
    private let configuration: Configuration
    private let options: RunOptions
    private let world: World
    private let tally: RunTally
    private let book: DestinationBook
    private let operations: OperationBook
    private let conditions: MachineConditions
    private let sender: RequestSender
    /// Whether an error in taking the names lock has been reported.
    private var isNamesLockTold = false

    init(
        _ spool: SpoolDirectory, _ configuration: Configuration, _ options: RunOptions, _ world: World,
        _ tally: RunTally, _ book: DestinationBook, _ operations: OperationBook, _ conditions: MachineConditions,
        _ sender: RequestSender
    ) {
        self.spool = spool
        self.configuration = configuration
        self.options = options
        self.world = world
        self.tally = tally
        self.book = book
        self.operations = operations
        self.conditions = conditions
        self.sender = sender
    }

    /// Lists the queue for the operations with an order.
    func cut() throws(SpoolError) -> Cut {
        try spool.cut(patience: QueueView.patience) { configuration.route(of: TypeName($0)).isSequential }
    }

    /// Lists the waiting operations and chooses up to `budget` due ones, in dispatch order. With peers, chooses from
    /// this run's share first. With a cut, chooses no operation that has an order and came after it.
    func choose(
        budget: Int, _ authority: Chooser.Authority, _ peers: Peers = .none, of cut: borrowing Cut? = nil
    ) throws(SpoolError) -> Pass {
        let now = world.now()
        let isPlanning = authority == .showsOnly
        try book.read(now)
        if !isPlanning { try book.tellDamage() }
        conditions.look(isPlanning: isPlanning)
        let budget = isPlanning ? budget : min(budget, options.portion)
        do throws(SpoolError) {
            return try list(budget, authority, peers, now, cut)
        } catch let error where error.isLocked && authority == .hasSequenceLock {
            // This run has the sequence lock, but another process has the names lock. Only operations with an order are
            // delayed.
            if !isNamesLockTold { tally.inputOutput(error) }
            isNamesLockTold = true
            return try list(budget, .undecided, peers, now, cut)
        }
    }

    private func list(
        _ budget: Int, _ authority: Chooser.Authority, _ peers: Peers, _ now: Timestamp, _ cut: borrowing Cut?
    ) throws(SpoolError) -> Pass {
        let view = QueueView(
            spool, configuration, book.table, options, now, waits: book.waits(now), operations, peers)
        let chooser = Chooser(authority, peers: peers, expiries: operations.expiries)
        let pass = try chooser.choose(view, budget: budget, of: cut, clock: world.clock) { kind in
            let destination = book.destination(kind.destination, now)
            conditions.apply(to: destination)
            if !destination.isBlocked, authority != .showsOnly { sender.prepare(for: kind.route, destination) }
            return destination
        }
        for error in pass.errors where operations.toldErrors.insert(error).inserted { tally.inputOutput(error) }
        return pass
    }
}
