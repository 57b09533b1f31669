import Drain
import Policy
import Spool

struct RunCommand: Command {
    static let name = "run"

    /// The operations to send; empty means all that are due.
    var ids: [String] = []
    var limit: Int?
    var concurrency = RunOptions().concurrency
    var maxTime: Duration?
    var grace = RunOptions().grace
    var wait: Duration?
    var staysUntilEmpty = false
    var ignoresBackoff = false
    var types: [TypeName] = []
    var destinations: [String] = []
    var rate: Rate?
    var failsIfBusy = false
    var showsStats = false
    var progress = Progress.Choice.auto
    var isDryRun = false
    var request = RequestOptions()
    var global = GlobalOptions()

    mutating func take(operands: [String]) { ids = operands }

    static var options: [Option<Self>] {
        Option(
            .limit, .count(1...Int.max), \.limit, "attempt at most N operations",
            """
            The most operations that a run takes: 100 by default, or all that are due if --max-time bounds the run. \
            With --wait or --until-empty the limit applies to each pass. Superseded operations do not count. A pass \
            also fails at most N expired operations of blocked destinations, which do not count either.
            """)
        Option(
            .concurrency, .concurrency(1...1000), initial: \.concurrency, "the most attempts in flight",
            """
            The most attempts in flight at once. A number is for all destinations together. With `auto` each destination \
            begins with 5, and gets more as long as its server answers as fast as before, up to 64 for all of them. Its \
            limit is halved when its server refuses (429, 503, Retry-After, a time-out).
            """)
        Option(
            .maxTime, .duration, \.maxTime, "claim no operation after this time",
            "After this time the run claims no more operations. Attempts in flight end within the time of --grace.")
        Option(
            .grace, .duration, initial: \.grace, "the time for attempts in flight after a stop",
            "How long attempts in flight may take after a signal or after --max-time, before the run cuts them off."
        )
        Option(
            .wait, .duration, \.wait, "wait this long for operations to become due",
            """
            If no operation is due, waits for operations that become due, or are added, within this time after the \
            start. A run that stays reads a changed configuration before each pass. While the configuration is not \
            valid, the one before is in force, and the run ends with 78.
            """)
        Option(
            .untilEmpty, \.staysUntilEmpty, "run until no operation waits",
            """
            Continues until every operation is delivered, failed, held or parked. If --max-time, a signal or a pause ends \
            the run before, the status is 75.
            """)
        Option(
            .now, \.ignoresBackoff, "ignore due times, open breakers and conditions",
            """
            Attempts deferred operations before their time, and destinations whose circuit breaker is open, and ignores \
            `conditions` of the configuration. An operation that this run has deferred keeps its schedule. Holds and \
            pauses still apply, and so do the time that a server asked for and the `notBefore` of an operation.
            """)
        Option(
            .type, short: "t", .typeName, each: \.types, "attempt only this type",
            "Only operations of this type; given more than once, of any of these.")
        Option(
            .destination, .destination, each: \.destinations, "attempt only operations for this destination",
            "Only operations for this destination, as `drainq status` names it; given more than once, for any of these."
        )
        Option(
            .rate, .rate, \.rate, "begin attempts at most at this rate, such as 20/s",
            """
            The most attempts that begin per second, minute or hour, evenly spaced, over all destinations: `20/s`, `90/m`, `500/h`. A run \
            keeps the rate that it began with. To change it, end the run with SIGINT, which loses no operation and uses \
            up no attempt, and start one with another rate.
            """)
        Option(
            .failIfBusy, \.failsIfBusy, "end at once if another run works on the queue",
            "Ends at once with status 75 if another run works on this queue, instead of sharing the work with it.")
        Option(
            .stats, \.showsStats, "report how the run spent its time",
            """
            Writes a line to standard error at the end: how much time the run spent on choosing operations, claiming \
            and reading them, waiting for answers, settling, and syncing the disk, and what could be tuned. With \
            --json the summary always has these figures.
            """)
        Option(
            .progress, .choice, initial: \.progress, "show the progress of the run",
            """
            Writes a line to standard error that shows the progress of the run, if there are more than five operations: the \
            count, the rate, the time left, and the numbers deferred, held and failed. At a terminal it stays below \
            all other lines; elsewhere `always` writes a line each second. `auto` shows it at a terminal, in place of \
            the lines for successful attempts; --verbose shows both.
            """)
        Option.dryRun(\.isDryRun)
        RequestOptions.options.map { $0.within(\.request) }
        GlobalOptions.options.map { $0.within(\.global) }
    }

    static let description = CommandDescription(
        Self.self, "attempt the operations that are due",
        """
        Takes up to --limit operations that are due, oldest first, sends them, and ends. A delivered operation leaves \
        the queue; one that failed temporarily is deferred to a later time; one that failed for good goes to \
        `failed/`. Several runs may share one queue. The exit status says what happened.

        Without a terminal a run without problems prints nothing: cron mails only problems. If operations \
        fail for the same cause at the same destination, runs report them once an hour, with the number since the last \
        report. Runs group failures by cause: the status or the error, and the first fixed words of the answer. A new \
        cause is reported at once. A destination has at most three causes for one status. The run that begins a \
        hold reports it at once. Runs report each hold once, also one that `send` began or whose run died, and then \
        its end. With --verbose, or at a terminal, it prints a line for each \
        attempt and a summary.

        With ids it sends these operations now and no others, even if they wait for the time of the next attempt, \
        their `notBefore`, an open circuit breaker, `conditions`, or another operation after a refusal. Holds, pauses, the time \
        that a server asked for and the order of a sequence still apply: to send an operation, name the older ones \
        that go first too. An id that is not in the queue, or whose operation is finished, or superseded by one that is \
        not named, is an error with status 1. \
        The run gives the reason for each operation that it did not send; the status is 69 if it is held and 75 \
        otherwise.

        After SIGTERM, SIGINT or SIGHUP the run lets attempts in flight finish within the time of --grace, puts the rest back \
        and ends; a second signal cuts it off.
        """,
        operands: .optionalIDs, exclusive: [[.curl, .json]],
        states: [.new, .deferred],
        examples: [
            Example("drainq run", "one pass, for cron or a systemd timer"),
            Example("drainq run 6f9619ff-8b86-4011-b42d-00cf4fc964ff", "send one operation now"),
            Example("drainq run --limit 500 --concurrency 10 --max-time 50s", "a larger pass of less than a minute"),
            Example("drainq run --until-empty --max-time 1h", "run until no operation waits, for an hour at most"),
            Example("drainq run --now --until-empty --rate 5/s", "send everything after an outage, at a limited rate"),
            Example("drainq run --dry-run --json", "print the operations that a run would attempt"),
            Example("drainq run --dry-run --request", "print the requests that a run would send"),
        ])

    func perform(environment: [String: String]) throws -> ExitStatus {
        Messages.format = Messages.Format(environment: environment)
        if request.showsRequests, !isDryRun {
            throw CommandFailure(
                .usage, "'--request' needs '--dry-run'",
                hint: "the request of one operation: drainq show --request ID")
        }
        if !Terminal.isOnStandardError {
            // What a mail says is read elsewhere.
            nameInCommandsElsewhere(queue: try queuePath(option: global.path, environment: environment))
        }
        guard var queue = try openQueue(environment) else { return .configuration }
        try queue.applyTransport(of: environment)
        let named = ids.isEmpty ? nil : try NamedOperations(try namedTargets(ids), of: queue)
        if let named, named.ids.isEmpty { return .first(of: named.statuses) }
        var options = runOptions(named?.ids)
        if !(destinations.isEmpty && types.isEmpty) {
            let known = try queue.knownDestinations()
            options.destinations = Set(try destinations.map { try known.destination(named: $0).name })
            let unknown = detail == .everything ? try queue.unknownNames(types, destinations, known) : []
            for (text, hint) in unknown { Messages.warning(text, hint: hint) }
        }
        let renewed = RenewedQueue(queue, global) { try $0.checkTrustOfConfiguration(global) }
        return try drain(queue, options: options, named: named, renewed: renewed)
    }

    /// Opens the queue. Returns `nil` if its configuration is broken, and a run has said so within the hour.
    private func openQueue(_ environment: [String: String]) throws -> OpenQueue? {
        let failure: CommandFailure
        do throws(CommandFailure) {
            return try failing {
                let queue = try OpenQueue(global, environment)
                try queue.checkTrustOfConfiguration(global)
                if global.configuration == nil, queue.configuration.digest != nil { queue.spool.noteConfiguration() }
                return queue
            }
        } catch {
            failure = error
        }
        guard failure.status == .configuration, detail == .actionable, let message = failure.messages.first,
            let spool = try? SpoolDirectory(opening: queuePath(option: global.path, environment: environment)),
            !spool.recordIfDue(complaint: message.text, at: .now())
        else { throw failure }
        return nil
    }

    private func runOptions(_ ids: [OperationID]?) -> RunOptions {
        var options = RunOptions(
            concurrency: concurrency, maxTime: maxTime, ignoresBackoff: ignoresBackoff,
            ids: ids.map { Set($0) }, types: Set(types), rate: rate,
            failsIfBusy: failsIfBusy, grace: grace)
        options.limit = max(options.limit, ids?.count ?? 0)
        if let limit = limit ?? (options.maxTime == nil ? nil : .max) { options.limit = limit }
        if staysUntilEmpty {
            options.stay = .untilEmpty
        } else if let wait {
            options.stay = .during(wait)
        }
        return options
    }

    private var detail: RunReporter.Detail {
        if global.isJSON { return .json }
        if global.verbosity.isVerbose { return .everything }
        if global.verbosity.isQuiet { return .actionable }
        return Terminal.isOnStandardError ? .everything : .actionable
    }

    /// Makes the run and reports it. `demo` uses it too.
    func drain(
        _ queue: OpenQueue, options: RunOptions, named: NamedOperations? = nil,
        detail: RunReporter.Detail? = nil, renewed: RenewedQueue? = nil
    ) throws -> ExitStatus {
        var named = named
        var reporter = RunReporter(
            detail: detail ?? self.detail,
            progress: Progress(progress, global, stays: staysUntilEmpty || wait != nil, queue.environment),
            queue: Terminal.isOnStandardError ? global.path : absolutePath(queue.spool.path),
            showsStats: showsStats, mailOf: queue.spool)
        var observer = RunObserver(of: queue)
        func stayingWorld(of queue: OpenQueue) -> World {
            var world = queue.world()
            world.renewal = {
                guard renewed?.renew() == true, let queue = renewed?.queue else { return nil }
                observer.queue = queue
                return (queue.configuration, stayingWorld(of: queue))
            }
            world.reportsDue = { observer.endPass($0, exitStatus(of: $0), &reporter) }
            return world
        }
        let world = stayingWorld(of: queue)
        if isDryRun, request.showsRequests {
            var requests = RequestPrinter(
                options: request, asJSON: global.isJSON, terminal: .forResults(queue.environment))
            try queue.preview(options).forEachRequest { planned in
                requests.print(planned)
                planned.ids.forEach { named?.plan($0) }
            }
            return .first(of: (requests.hasFailed ? [.failed] : []) + (named?.reportUnsent() ?? []))
        }
        if isDryRun {
            let run = Run(spool: queue.spool, configuration: queue.configuration, options: options, world: world) { _ in
            }
            for (entry, destination) in try run.plan() {
                let view = EntryView(
                    entry: entry, destination: destination, route: queue.configuration.route(of: entry.name.type))
                if global.isJSON {
                    JSONLine.write(view)
                } else {
                    standardOutput.line("\(entry.name.id)  \(entry.name.type)  \(destination)")
                }
                named?.plan(entry.name.id)
            }
            return .first(of: named?.reportUnsent() ?? [])
        }
        Interruption.install()
        let run = Run(spool: queue.spool, configuration: queue.configuration, options: options, world: world) {
            reporter.take($0)
            observer.take($0, at: world.now())
            named?.take($0)
        }
        let summary: RunSummary
        do { summary = try run() } catch {
            observer.abandon(&reporter)
            throw error
        }
        var status = exitStatus(of: summary)
        if let failure = renewed?.failure { status = .first(of: [status, failure.status]) }
        if let named { status = .first(of: [status] + named.reportUnsent(isLeftToOthers: summary.isLeftToOthers)) }
        reporter.finish(summary, status)
        observer.finish(summary, status, &reporter)
        return status
    }
}

/// Returns the status with the highest precedence that applies to the run.
func exitStatus(of summary: RunSummary) -> ExitStatus {
    .first(
        of: summary.outcomes.map { outcome in
            switch outcome {
            case .cutOff: if case .signal(15) = summary.end { .terminated } else { .interrupted }
            case .inputOutput: .inputOutput
            case .held: .held
            case .failed: .failed
            case .quarantined: .dataInvalid
            case .deferred: .deferred
            }
        })
}
