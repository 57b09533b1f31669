package import Policy
package import Spool

/// One run over a queue. It recovers the claims of dead runs, makes passes, prunes, and reports a summary.
///
/// `Passes` describes a pass. A run chooses (`PassChooser`), claims (`Claimer`), sends (`Dispatcher`, `RequestSender`),
/// judges answers (`AnswerAssessor`) and settles (`Settler`). If the process dies, the next run returns its claims
/// (SpoolDirectory, table of states).
package final class Run {
    private let spool: SpoolDirectory
    private let configuration: Configuration
    private let options: RunOptions
    private let world: World
    private let tally: RunTally
    private let book: DestinationBook
    private let operations = OperationBook()
    private let conditions: MachineConditions
    private let sender: RequestSender

    package init(
        spool: SpoolDirectory, configuration: Configuration, options: RunOptions, world: World,
        report: @escaping (RunEvent) -> Void
    ) {
        self.spool = spool
        self.configuration = configuration
        self.options = options
        self.world = world
        tally = RunTally(clock: world.clock, report: report)
        book = DestinationBook(
            spool, configuration, world, tally, ignoresBackoff: options.ignoresBackoff, concurrency: options.concurrency
        )
        // A user who gives `--now`, or names operations, overrides the conditions.
        let asked = options.ignoresBackoff ? Conditions() : configuration.conditions
        conditions = MachineConditions(asked, world, book, tally)
        sender = RequestSender(
            spool, configuration, world, concurrency: options.concurrency.most,
            adapts: options.concurrency == .auto, rate: options.rate)
    }

    /// Runs, and returns the summary. Throws only before any attempt, if the queue cannot be read or claimed in.
    package func callAsFunction() throws(SpoolError) -> RunSummary {
        defer { sender.close() }
        if try spool.isPaused {
            tally.end(.paused)
            return tally.summary
        }
        let spoolRun = try spool.beginRun(now: world.now())
        let passes = passes(spoolRun)
        try passes.begin()
        if options.failsIfBusy, try spoolRun.hasOtherRuns {
            tally.end(.busy)
            try spoolRun.end()
            return tally.summary
        }
        var pass = try passes.next()
        passes.attempt(&pass)
        do throws(SpoolError) {
            while !tally.hasEnded, passes.waitForNextPass(after: pass) {
                try passes.begin()
                pass = try passes.next()
                passes.attempt(&pass)
            }
        } catch {
            tally.endRun(because: error)
        }
        book.tell()
        do throws(SpoolError) { try spool.prune(by: configuration, now: world.now()) } catch {
            tally.inputOutput(error)
        }
        do throws(SpoolError) { try spoolRun.end() } catch { tally.endRun(because: error) }
        return tally.finish(deferred: operations.deferred.count)
    }

    /// Returns the operations that a run would attempt, in order; none if the queue is paused. Claims and sends
    /// nothing.
    package func plan() throws(SpoolError) -> [(entry: Entry, destination: String)] {
        if try spool.isPaused { return [] }
        return try chooser.choose(budget: options.limit, .showsOnly).chosen.map { ($0.entry, $0.destination.name) }
    }

    // MARK: - Parts

    private var chooser: PassChooser {
        PassChooser(spool, configuration, options, world, tally, book, operations, conditions, sender)
    }

    private func passes(_ spoolRun: SpoolRun) -> Passes {
        let parts = SendingParts(
            of: spoolRun, spool, configuration, options, world, tally, book, operations, conditions, sender)
        return Passes(
            spoolRun, configuration, options, world.clock, tally, chooser, parts.stop, sender, parts.settler,
            parts.dispatcher)
    }
}
