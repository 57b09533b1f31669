import Delivery
import Spool
import Testing

@testable import Drain
@testable import Policy

/// The structures of a run, for tests of a single structure.
final class Parts {
    let bench: Bench
    let tally: RunTally
    let book: DestinationBook
    let spoolRun: SpoolRun
    var dispatch: Dispatch

    init(
        _ bench: Bench, spool: SpoolDirectory? = nil, _ options: RunOptions = RunOptions(),
        answer: @escaping (OutgoingRequest) -> AttemptReport.Result = { _ in .status(204) }
    ) throws {
        self.bench = bench
        tally = RunTally(clock: bench.clock) { bench.events.append($0) }
        spoolRun = try bench.spool.beginRun(now: bench.now)
        var options = options
        options.concurrency = .atMost(5)
        let parts = RunParts(spool ?? bench.spool, bench.configuration, options, bench.world(answer), tally)
        book = parts.book
        dispatch = Dispatch(parts, Settling(parts, spoolRun, OperationBook()))
        try book.read(bench.now)
    }

    /// Returns the operations of `new/` as candidates, oldest first.
    func candidates() throws -> [Candidate] {
        try bench.names(.new).map { name in
            let destination = book.table.destination(of: name)
            _ = book.destination(destination, bench.now)
            let sequence = bench.configuration.route(of: name.type).order.sequence(of: name, to: destination)
            return Candidate(
                entry: Entry(state: .new, name: name), destination: destination, sequence: sequence, isHead: true)
        }
    }

    /// Sends these operations, or everything in `new/`. Returns the number of claims tried.
    @discardableResult
    func send(_ candidates: [Candidate]? = nil) throws -> Int {
        dispatch.attempt(try candidates ?? self.candidates())
    }

    /// Claims everything in `new/`, and begins a request for each operation or batch. Returns the attempts.
    func attempts() throws -> [Attempt] {
        dispatch.queue.begin()
        let candidates = try candidates()
        dispatch.beginStormGuards(for: candidates)
        for candidate in candidates { dispatch.queue.append(candidate, of: book[candidate]) }
        var attempts: [Attempt] = []
        while let next = dispatch.queue.next(free: 1, at: .zero) {
            guard let attempt = dispatch.claim(next.candidate, to: next.destination, isSample: false) else { continue }
            attempt.request = spoolRun.begin(attempt.claims)
            attempts.append(attempt)
        }
        return attempts
    }

    /// Takes in an answer with this status.
    func take(_ status: Int, of attempt: Attempt) {
        take(AttemptReport(result: .status(status), duration: .zero), of: attempt)
    }

    func take(_ report: AttemptReport, of attempt: Attempt) { dispatch.process(report, of: attempt) }

    func concludeQuiet() -> Bool { dispatch.concludeQuiet() }

    func stopIfAsked() -> Bool { dispatch.stopIfAsked() }

    func beginGraceIfAsked() { dispatch.beginGraceIfAsked() }
}

extension Dispatch {
    fileprivate mutating func beginGraceIfAsked() { stop.beginGraceIfAsked(inFlight: 2, &settling) }
}
