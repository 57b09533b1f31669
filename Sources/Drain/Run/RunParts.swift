import Policy
import Spool

/// What the structures of a run share: what the run was given, and the objects that its whole configuration makes.
///
/// A changed configuration makes all of them anew, but for the tally.
struct RunParts {
    let spool: SpoolDirectory
    let configuration: Configuration
    let options: RunOptions
    let world: World
    let tally: RunTally
    let book: DestinationBook
    let conditions: MachineConditions
    let sender: RequestSender
    /// Whether they are the parts of a run: `send` has a sender of its own, and is no sign of runs.
    private let isRun: Bool

    init(
        _ spool: SpoolDirectory, _ configuration: Configuration, _ options: RunOptions, _ world: World,
        _ tally: RunTally, _ sender: RequestSender? = nil
    ) {
        self.spool = spool
        self.configuration = configuration
        self.options = options
        self.world = world
        self.tally = tally
        isRun = sender == nil
        book = DestinationBook(
            spool, configuration, world, tally, ignoresBackoff: options.ignoresBackoff,
            concurrency: options.concurrency)
        // A user who gives `--now`, or names operations, overrides the conditions.
        let asked = options.ignoresBackoff ? Conditions() : configuration.conditions
        conditions = MachineConditions(asked, world, book, tally)
        self.sender =
            sender
            ?? RequestSender(
                spool, configuration, world, concurrency: options.concurrency.most,
                adapts: options.concurrency == .auto, rate: options.rate)
    }

    /// Writes that a run ends now or is still at work, and tells that none was for a while, if so.
    func noteRun() {
        guard isRun else { return }
        let now = world.clock.now()
        guard let earlier = spool.noteRun(at: now), let last = earlier.last(at: now), earlier.areMissing(at: now) else {
            return
        }
        var gap = LogEvent(.gap, at: now)
        gap.since = last
        tally.tell(.changed(gap))
    }
}
