package import Policy
package import Spool

/// One run over a queue. It makes passes, each of which begins and ends like a run of its own, and reports a summary.
///
/// `Passes` owns the state of a run, in three structures: what it chooses (`Choice`), what is in flight (`Dispatch`),
/// and what is decided and not synced (`Settling`). If the process dies, the next run returns its claims
/// (SpoolDirectory, table of states).
package struct Run {
    let parts: RunParts

    package init(
        spool: SpoolDirectory, configuration: Configuration, options: RunOptions, world: World,
        report: @escaping (RunEvent) -> Void
    ) {
        parts = RunParts(spool, configuration, options, world, RunTally(clock: world.clock, report: report))
    }

    /// Runs, and returns the summary. Throws only before any attempt, if the queue cannot be read or claimed in.
    ///
    /// Notes the run at its end: a run that throws, dies, or leaves the queue to a busy one is no sign that runs come.
    package func callAsFunction() throws(SpoolError) -> RunSummary {
        let (spool, tally) = (parts.spool, parts.tally)
        if try spool.isPaused {
            parts.noteRun()
            tally.end(.paused)
            if parts.options.stay == .untilEmpty {
                let pass = try plannedPass()
                parts.book.countLeft(of: pass, begun: 0)
                tally.summary.leavesWaiting = pass.leavesWaiting || pass.foreign > 0 || tally.summary.paused > 0
            }
            return tally.summary
        }
        let spoolRun = try spool.beginRun(now: parts.world.now())
        var passes = Passes(parts, spoolRun)
        defer { passes.close() }
        try passes.begin()
        if parts.options.failsIfBusy, try spoolRun.hasOtherRuns {
            tally.end(.busy)
            try spoolRun.end()
            return tally.summary
        }
        try passes.attemptAll()
        parts.noteRun()
        do throws(SpoolError) { try spoolRun.end() } catch { tally.endRun(because: error) }
        return passes.summary
    }

    /// Returns the operations that a run would attempt, in order; none if the queue is paused. Claims and sends
    /// nothing.
    package func plan() throws(SpoolError) -> [(entry: Entry, destination: String)] {
        if try parts.spool.isPaused { return [] }
        return try plannedPass().chosen.map { ($0.entry, $0.destination.name) }
    }

    /// Returns the first pass that a run would make now.
    func plannedPass() throws(SpoolError) -> Pass {
        var choice = Choice(parts)
        return try choice.choose(budget: parts.options.limit, .showsOnly)
    }
}
