package import Delivery
package import Policy
package import Spool

/// One run over a queue: choose, claim, attempt, settle, count, stop. The only place of order and concurrency.
///
/// A run is one thread: between two reports of the sink it settles and claims, so the directory is only ever touched
/// from here. What was claimed when the process dies is returned by the next run (SpoolDirectory, table of states).
package final class Run {
    /// What a run needs of the world, so that a test can give it another.
    package struct World {
        package var now: () -> Timestamp
        package var generator: any RandomNumberGenerator
        /// Called when the first request is to be sent, and not before.
        package var makeSink: (_ concurrency: Int) -> any Sink
        /// What requests say in User-Agent, `drainq/VERSION`.
        package var version: String

        package init(
            version: String, now: @escaping () -> Timestamp, generator: any RandomNumberGenerator,
            makeSink: @escaping (_ concurrency: Int) -> any Sink
        ) {
            self.version = version
            self.now = now
            self.generator = generator
            self.makeSink = makeSink
        }
    }

    let spool: SpoolDirectory
    let configuration: Configuration
    let options: RunOptions
    let destinations: DestinationTable
    let report: (RunEvent) -> Void
    var world: World
    var summary: RunSummary
    var sink: (any Sink)?
    /// Destinations that wait for a person or a credential, from here to the end of the run.
    var held: Set<Digest> = []
    /// Operations that this run deferred and has not seen through since.
    var waiting: Set<OperationID> = []
    /// Operations this run could not read or settle: left alone until the next one.
    var leftAlone: Set<OperationID> = []
    let started = ContinuousClock.now

    package init(
        spool: SpoolDirectory, configuration: Configuration, options: RunOptions, world: World,
        report: @escaping (RunEvent) -> Void
    ) {
        self.spool = spool
        self.configuration = configuration
        self.options = options
        self.destinations = DestinationTable(configuration)
        self.world = world
        self.report = report
        self.summary = RunSummary(startedAt: world.now())
    }

    /// Runs, and returns what it came to. Throws only where nothing was attempted: the queue cannot be read or claimed in.
    package func callAsFunction() throws(SpoolError) -> RunSummary {
        defer { sink?.close() }
        if try spool.isPaused {
            summary.end = .paused
            return summary
        }
        let claims = try spool.beginRun(now: world.now())
        let recovery = try claims.recover(now: world.now())
        count(recovery)
        var pass = try nextPass(claims)
        while true {
            summary.leftDue = pass.leftDue + attempt(pass.chosen, claims)
            summary.nextDue = pass.nextDue
            if summary.end != .done || !waits(after: pass) { break }
            do throws(SpoolError) {
                pass = try nextPass(claims)
            } catch {
                broken(error)
                break
            }
        }
        prune()
        do throws(SpoolError) {
            try claims.end()
        } catch {
            broken(error)
        }
        summary.deferred = waiting.count
        summary.duration = .now - started
        return summary
    }

    /// What a run would attempt, in its order, without claiming or sending anything.
    package func plan() throws(SpoolError) -> [(entry: Entry, destination: String)] {
        try choose().chosen.map { ($0.entry, $0.destination.name) }
    }

    // MARK: - Passes

    /// What one listing of the directory yields.
    struct Pass {
        var chosen: [Candidate]
        /// Due, but beyond the limit.
        var leftDue: Int
        /// Waiting for its time.
        var waiting: Int
        var nextDue: Timestamp?
        /// How long the listing took: the next one waits in proportion.
        var cost: Duration
    }

    private func nextPass(_ claims: SpoolRun) throws(SpoolError) -> Pass {
        let admission = try claims.admitForeign(now: world.now(), limits: configuration.limits)
        for item in admission.quarantined { quarantined(item) }
        for error in admission.errors { inputOutput(error) }
        return try choose()
    }

    private func choose() throws(SpoolError) -> Pass {
        let start = ContinuousClock.now
        let now = world.now()
        var selection = Selection<Digest, Candidate>(limit: options.limit)
        var waiting = 0
        var nextDue: Timestamp?
        for state in [QueueState.new, .deferred] {
            try spool.forEachEntry(in: state) { entry in
                let name = entry.name
                guard options.types.isEmpty || options.types.contains(name.type), !leftAlone.contains(name.id) else {
                    return
                }
                let destination = destinations.destination(of: name)
                guard !held.contains(destination.digest) else { return }
                let longest = configuration.route(of: name.type).longestDelay
                switch eligibility(of: name, at: now, longestDelay: longest, ignoringBackoff: options.ignoresBackoff) {
                case .due:
                    selection.offer(
                        name, destination: destination.digest,
                        element: Candidate(entry: entry, destination: destination))
                case .held: break
                case .deferred(let until):
                    waiting += 1
                    nextDue = min(nextDue ?? until, until)
                }
            }
        }
        let chosen = selection.chosen().map(\.element)
        return Pass(
            chosen: chosen, leftDue: selection.offered - chosen.count, waiting: waiting, nextDue: nextDue,
            cost: .now - start)
    }

    /// Waits for the next pass where the options ask for one; false where the run is over.
    private func waits(after pass: Pass) -> Bool {
        let now = ContinuousClock.now
        var end = options.maxTime.map { started + $0 }
        switch options.stay {
        case .no: return false
        case .during(let time): end = min(end ?? started + time, started + time)
        case .untilEmpty: break
        }
        if let end, now >= end { return stopped(pass) }
        // What this pass deferred is not in its listing: list again before deciding that nothing is left.
        guard let again = try? choose() else { return true }
        if !again.chosen.isEmpty { return true }
        if options.stay == .untilEmpty, again.waiting == 0 {
            summary.nextDue = nil
            return false
        }
        // New files are looked for once a second, less often where a listing is long.
        var next = now + max(.seconds(1), again.cost * 20)
        if let due = again.nextDue { next = min(next, now + max(.milliseconds(1), due - world.now())) }
        if let end { next = min(next, end) }
        Interruption.sleep(until: next)
        if interrupted() { return false }
        if let end, ContinuousClock.now >= end {
            summary.nextDue = again.nextDue
            return stopped(again)
        }
        return true
    }

    private func stopped(_ pass: Pass) -> Bool {
        if let maxTime = options.maxTime, ContinuousClock.now >= started + maxTime { summary.end = .timeUp }
        return false
    }

    /// Notes a signal as the end of this run.
    func interrupted() -> Bool {
        let signal = Interruption.received
        guard signal.count > 0 else { return false }
        summary.end = .signal(signal.last)
        return true
    }

    // MARK: - Counting

    private func count(_ recovery: Recovery) {
        summary.recovered = recovery.returned.count
        summary.quarantined += recovery.quarantined.count
        if !recovery.returned.isEmpty || !recovery.quarantined.isEmpty { report(.recovered(recovery)) }
    }

    func quarantined(_ item: QuarantineItem) {
        summary.quarantined += 1
        report(.quarantined(item))
    }

    /// One operation or file could not be dealt with; the others go on.
    func inputOutput(_ error: SpoolError) {
        summary.inputOutputErrors += 1
        report(.inputOutputError(error))
    }

    /// The directory does not do what it must: no further claim.
    func broken(_ error: SpoolError) {
        inputOutput(error)
        if summary.end == .done { summary.end = .broken(error.description) }
    }

    private func prune() {
        let now = world.now()
        let retention = configuration.retention
        do throws(SpoolError) {
            if let kept = retention.failed { _ = try spool.prune(.failed, olderThan: now - kept) }
            if retention.delivered > .zero { _ = try spool.prune(.delivered, olderThan: now - retention.delivered) }
        } catch {
            inputOutput(error)
        }
    }
}

/// An entry that is due, and where it goes.
struct Candidate {
    var entry: Entry
    var destination: Destination
}
