import Policy
import Spool

/// The parts of a run that send operations and settle them, connected.
struct SendingParts {
    let stop: StopCheck
    let settler: Settler
    let claimer: Claimer
    let dispatcher: Dispatcher

    /// `hasSubmitter`: the run is that of a `send`.
    init(
        of spoolRun: SpoolRun, _ spool: SpoolDirectory, _ configuration: Configuration, _ options: RunOptions,
        _ world: World, _ tally: RunTally, _ book: DestinationBook, _ operations: OperationBook,
        _ conditions: MachineConditions, _ sender: RequestSender, hasSubmitter: Bool = false
    ) {
        let queue = SendQueue()
        settler = Settler(
            spoolRun, of: spool, configuration, world, tally, book, operations, queue, hasSubmitter: hasSubmitter)
        stop = StopCheck(
            options, world.clock, tally, OperatorCheck(world.clock, tally, settler, conditions))
        claimer = Claimer(spool, configuration.limits, world.clock, settler, sender, queue)
        let assessor = AnswerAssessor(world, book, conditions, settler, queue, sender)
        dispatcher = Dispatcher(
            world.clock, tally, conditions, stop, sender, settler, queue, claimer, assessor)
    }
}
