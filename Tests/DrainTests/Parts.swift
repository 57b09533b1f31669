import Delivery
import Spool
import Testing

@testable import Drain
@testable import Policy

/// The parts of a run, each to be asked by itself.
final class Parts {
    let bench: Bench
    let tally: RunTally
    let book: DestinationBook
    let operations = OperationBook()
    let queue = SendQueue()
    let conditions: MachineConditions
    let spoolRun: SpoolRun
    let settler: Settler
    let sender: RequestSender
    let claimer: Claimer
    let assessor: AnswerAssessor

    init(
        _ bench: Bench, spool: SpoolDirectory? = nil, rate: Rate? = nil, ignoresBackoff: Bool = false,
        answer: @escaping (OutgoingRequest) -> AttemptReport.Result = { _ in .status(204) }
    ) throws {
        self.bench = bench
        let world = bench.world(answer)
        tally = RunTally(clock: bench.clock) { bench.events.append($0) }
        book = DestinationBook(
            spool ?? bench.spool, bench.configuration, world, tally, ignoresBackoff: ignoresBackoff)
        conditions = MachineConditions(bench.configuration.conditions, world, book, tally)
        spoolRun = try bench.spool.beginRun(now: bench.now)
        settler = Settler(spoolRun, of: bench.spool, bench.configuration, world, tally, book, operations, queue)
        sender = RequestSender(bench.spool, bench.configuration, world, concurrency: 5, rate: rate)
        claimer = Claimer(bench.spool, bench.configuration.limits, bench.clock, settler, sender, queue)
        assessor = AnswerAssessor(world, book, conditions, settler, queue, sender)
        try book.read(bench.now)
    }

    func stop(_ options: RunOptions = RunOptions()) -> StopCheck {
        StopCheck(options, bench.clock, tally, OperatorCheck(bench.clock, tally, settler, conditions))
    }

    func dispatcher(_ options: RunOptions = RunOptions()) -> Dispatcher {
        Dispatcher(bench.clock, tally, conditions, stop(options), sender, settler, queue, claimer, assessor)
    }

    /// The operations of `new/` as a listing has them, oldest first.
    func candidates() throws -> [Candidate] {
        try bench.names(.new).map { name in
            let destination = book.table.destination(of: name)
            _ = book.destination(destination, bench.now)
            let sequence = bench.configuration.route(of: name.type).order.sequence(of: name, to: destination)
            return Candidate(
                entry: Entry(state: .new, name: name), destination: destination, sequence: sequence, isHead: true)
        }
    }

    /// Claims all that is in `new/`, in one attempt for each operation or batch.
    func attempts() throws -> [Attempt] {
        queue.begin()
        let candidates = try candidates()
        assessor.beginStormGuards(for: candidates)
        for candidate in candidates { queue.append(candidate, of: book[candidate]) }
        var attempts: [Attempt] = []
        while let next = queue.next(free: 1, at: .zero) {
            if let attempt = claimer.attempt(next.candidate, isSample: false) { attempts.append(attempt) }
        }
        return attempts
    }

    /// Takes in an answer with this status.
    func take(_ status: Int, of attempt: Attempt) {
        assessor.take(AttemptReport(result: .status(status), duration: .zero), of: attempt)
    }
}
