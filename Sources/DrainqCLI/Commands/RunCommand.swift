import Delivery
import Drain
import Policy
import Spool

/// Performs `drainq run`: makes one pass over the operations that are due, or more if the options ask the run to stay.
func runQueue(_ arguments: RunArguments, environment: [String: String]) throws(CommandFailure) -> ExitStatus {
    Messages.format = Messages.Format(environment: environment)
    return try failing {
        if arguments.request.showsRequests, !arguments.isDryRun {
            throw CommandFailure(
                .usage, "'--request' needs '--dry-run'", hint: "the request of one operation: drainq show --request ID")
        }
        var queue = try OpenQueue(arguments.queue, environment)
        try queue.applyTransport(of: environment)
        try queue.checkTrustOfConfiguration(arguments.queue)
        let named =
            arguments.ids.isEmpty ? nil : try NamedOperations(try namedTargets(arguments.ids), of: queue)
        if let named, named.ids.isEmpty { return .first(of: named.statuses) }
        var options = runOptions(arguments, named?.ids)
        let destinations = arguments.destinations
        if !destinations.isEmpty {
            let known = try queue.knownDestinations()
            options.destinations = Set(try destinations.map { try known.destination(named: $0).name })
        }
        return try drain(
            queue, options: options, arguments, named: named, renewed: RenewedQueue(queue, arguments.queue))
    }
}

private func runOptions(_ arguments: RunArguments, _ ids: [OperationID]?) -> RunOptions {
    var options = RunOptions(
        concurrency: arguments.concurrency, maxTime: arguments.maxTime, ignoresBackoff: arguments.ignoresBackoff,
        ids: ids.map { Set($0) }, types: Set(arguments.types), rate: arguments.rate,
        failsIfBusy: arguments.failsIfBusy, grace: arguments.grace)
    options.limit = max(options.limit, ids?.count ?? 0)
    if let limit = arguments.limit ?? (options.maxTime == nil ? nil : .max) { options.limit = limit }
    if arguments.staysUntilEmpty {
        options.stay = .untilEmpty
    } else if let wait = arguments.wait {
        options.stay = .during(wait)
    }
    return options
}

/// Makes the run and reports it. `demo` uses it too.
func drain(
    _ queue: OpenQueue, options: RunOptions, _ arguments: RunArguments, named: NamedOperations? = nil,
    detail: RunReporter.Detail? = nil, renewed: RenewedQueue? = nil
) throws -> ExitStatus {
    var (named, renewed) = (named, renewed)
    var reporter = RunReporter(
        detail: detail ?? RunReporter.detail(arguments), progress: Progress(arguments, queue.environment),
        queue: arguments.queue.path,
        showsStats: arguments.showsStats, alarms: Alarms(of: queue.spool, at: .now()))
    var observer = RunObserver(of: queue)
    func stayingWorld(of queue: OpenQueue) -> World {
        var world = queue.world()
        world.renewal = {
            guard renewed?.renew() == true, let queue = renewed?.queue else { return nil }
            observer.queue = queue
            return (queue.configuration, stayingWorld(of: queue))
        }
        world.passEnded = { if observer.endPass($0, exitStatus(of: $0)) { reporter.endPass() } }
        return world
    }
    let world = stayingWorld(of: queue)
    if arguments.isDryRun, arguments.request.showsRequests {
        var requests = RequestPrinter(arguments.request, asJSON: arguments.isJSON, .forResults(queue.environment))
        try queue.preview(options).forEachRequest { planned in
            requests.print(planned)
            planned.ids.forEach { named?.plan($0) }
        }
        return .first(of: (requests.hasFailed ? [.failed] : []) + (named?.reportUnsent() ?? []))
    }
    if arguments.isDryRun {
        let run = Run(spool: queue.spool, configuration: queue.configuration, options: options, world: world) { _ in }
        for (entry, destination) in try run.plan() {
            let view = EntryView(entry, destination: destination, route: queue.configuration.route(of: entry.name.type))
            if arguments.isJSON {
                JSONLine.write(view)
            } else {
                standardOutput.line("\(view.id)  \(view.type)  \(destination)")
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
    let summary = try run()
    var status = exitStatus(of: summary)
    if let failure = renewed?.failure { status = .first(of: [status, failure.status]) }
    if let named { status = .first(of: [status] + named.reportUnsent()) }
    reporter.finish(summary, status)
    observer.finish(summary, status)
    return status
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
