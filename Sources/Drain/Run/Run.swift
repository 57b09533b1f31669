package import Policy
package import Spool

/// One run over a queue. It makes passes, each of which begins and ends like a run of its own, and reports a summary.
///
/// `Passes` describes a pass. A run chooses (`PassChooser`), claims (`Claimer`), sends (`Dispatcher`, `RequestSender`),
/// judges answers (`AnswerAssessor`) and settles (`Settler`). If the process dies, the next run returns its claims
/// (SpoolDirectory, table of states).
package final class Run {
    let spool: SpoolDirectory
    let options: RunOptions
    private let tally: RunTally
    let operations = OperationBook()
    private(set) var parts: Parts

    package init(
        spool: SpoolDirectory, configuration: Configuration, options: RunOptions, world: World,
        report: @escaping (RunEvent) -> Void
    ) {
        self.spool = spool
        self.options = options
        tally = RunTally(clock: world.clock, report: report)
        parts = Parts(spool, configuration, options, world, tally)
    }

    /// Runs, and returns the summary. Throws only before any attempt, if the queue cannot be read or claimed in.
    package func callAsFunction() throws(SpoolError) -> RunSummary {
        defer { parts.sender.close() }
        if try spool.isPaused {
            tally.end(.paused)
            return tally.summary
        }
        let spoolRun = try spool.beginRun(now: parts.world.now())
        var passes = passes(spoolRun)
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
                if let (configuration, world) = parts.world.renewal() {
                    passes.end()
                    parts.sender.close()
                    parts = Parts(spool, configuration, options, world, tally)
                    parts.book.isFirstPass = false
                    passes = self.passes(spoolRun)
                }
                try passes.begin()
                pass = try passes.next()
                passes.attempt(&pass)
            }
        } catch {
            tally.endRun(because: error)
        }
        parts.book.tell()
        do throws(SpoolError) { try spool.prune(by: parts.configuration, now: parts.world.now()) } catch {
            tally.inputOutput(error)
        }
        do throws(SpoolError) { try spoolRun.end() } catch { tally.endRun(because: error) }
        return tally.summary(deferred: operations.deferred.count)
    }

    /// Returns the operations that a run would attempt, in order; none if the queue is paused. Claims and sends
    /// nothing.
    package func plan() throws(SpoolError) -> [(entry: Entry, destination: String)] {
        if try spool.isPaused { return [] }
        return try chooser.choose(budget: options.limit, .showsOnly).chosen.map { ($0.entry, $0.destination.name) }
    }

    // MARK: - Parts

    /// The parts that follow from the configuration. A changed configuration makes them anew.
    struct Parts {
        let configuration: Configuration
        let world: World
        let book: DestinationBook
        let conditions: MachineConditions
        let sender: RequestSender

        init(
            _ spool: SpoolDirectory, _ configuration: Configuration, _ options: RunOptions, _ world: World,
            _ tally: RunTally
        ) {
            self.configuration = configuration
            self.world = world
            book = DestinationBook(
                spool, configuration, world, tally, ignoresBackoff: options.ignoresBackoff,
                concurrency: options.concurrency)
            // A user who gives `--now`, or names operations, overrides the conditions.
            let asked = options.ignoresBackoff ? Conditions() : configuration.conditions
            conditions = MachineConditions(asked, world, book, tally)
            sender = RequestSender(
                spool, configuration, world, concurrency: options.concurrency.most,
                adapts: options.concurrency == .auto, rate: options.rate)
        }
    }

    var chooser: PassChooser {
        PassChooser(
            spool, parts.configuration, options, parts.world, tally, parts.book, operations, parts.conditions,
            parts.sender)
    }

    private func passes(_ spoolRun: SpoolRun) -> Passes {
        let (configuration, world) = (parts.configuration, parts.world)
        let sending = SendingParts(
            of: spoolRun, spool, configuration, options, world, tally, parts.book, operations, parts.conditions,
            parts.sender)
        return Passes(
            spoolRun, configuration, options, world, tally, chooser, sending.stop, parts.sender, sending.settler,
            sending.dispatcher)
    }
}
