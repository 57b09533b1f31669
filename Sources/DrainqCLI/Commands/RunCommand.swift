import Delivery
import Drain
import Policy
import Spool

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// `drainq run`: one pass over what is due, or more where the options ask the run to stay.
func runQueue(_ command: ParsedCommand, environment: [String: String]) throws(CommandFailure) -> ExitStatus {
    Messages.format = Messages.Format(command, environment: environment)
    return try failing {
        var queue = try OpenQueue(command, environment)
        try queue.applyTransport(of: environment)
        try queue.checkTrustOfConfiguration(command)
        let named =
            command.operands.isEmpty ? nil : try NamedOperations(try givenMentions(command), of: queue)
        if let named, named.ids.isEmpty { return .first(of: named.statuses) }
        var options = runOptions(command, named?.ids)
        let destinations = command.texts(.destination)
        if !destinations.isEmpty {
            let known = try queue.knownDestinations()
            options.destinations = Set(try destinations.map { try known.destination(named: $0).name })
        }
        return try drain(queue, options: options, command, named: named)
    }
}

private func runOptions(_ command: ParsedCommand, _ ids: [OperationID]?) -> RunOptions {
    var options = RunOptions(
        maxTime: command.duration(.maxTime), ignoresBackoff: command.flag(.now),
        ids: ids.map { Set($0) }, types: Set(command.typeNames(.type)),
        rate: command.rate(.rate), failsIfBusy: command.flag(.failIfBusy))
    options.limit = max(options.limit, ids?.count ?? 0)
    if let limit = command.count(.limit) ?? (options.maxTime == nil ? nil : .max) { options.limit = limit }
    if let concurrency = command.count(.concurrency) { options.concurrency = concurrency }
    if let grace = command.duration(.grace) { options.grace = grace }
    if command.flag(.untilEmpty) {
        options.stay = .untilEmpty
    } else if let wait = command.duration(.wait) {
        options.stay = .during(wait)
    }
    return options
}

/// Runs and reports; also what `demo` does.
func drain(
    _ queue: OpenQueue, options: RunOptions, _ command: ParsedCommand, named: NamedOperations? = nil,
    voice: RunReporter.Voice? = nil
) throws -> ExitStatus {
    var named = named
    let log = Messages.format == .json ? RunLog(isQuiet: command.flag(.quiet)) : nil
    var reporter = RunReporter(
        voice: voice ?? RunReporter.voice(command), log: log, progress: Progress(command), queue: command.text(.queue),
        tellsTime: command.flag(.stats), alarms: Alarms(of: queue.spool, at: .now()))
    var aftermath = Aftermath(of: queue)
    let world = queue.world()
    if command.flag(.dryRun) {
        let run = Run(spool: queue.spool, configuration: queue.configuration, options: options, world: world) { _ in }
        for (entry, destination) in try run.plan() {
            let view = EntryView(entry, destination: destination, route: queue.configuration.route(of: entry.name.type))
            if command.flag(.json) {
                JSONLine.write(view)
            } else {
                standardOutput.line("\(view.id)  \(view.type)  \(destination)")
            }
        }
        return .first(of: named?.statuses ?? [])
    }
    Interruption.install()
    let run = Run(spool: queue.spool, configuration: queue.configuration, options: options, world: world) {
        reporter.take($0)
        aftermath.take($0, at: world.now())
        named?.take($0)
    }
    let summary = try run()
    var status = exitStatus(of: summary)
    if let named { status = .first(of: [status] + (try named.tellUnsent())) }
    reporter.finish(summary, status)
    aftermath.leave(summary, status)
    return status
}

/// The first row of the table of exit statuses that applies.
func exitStatus(of summary: RunSummary) -> ExitStatus {
    if summary.wasCutOff, case .signal(let number) = summary.end { return number == 15 ? .terminated : .interrupted }
    var applying: [ExitStatus] = []
    if summary.inputOutputErrors > 0 { applying.append(.inputOutput) }
    if summary.held + summary.ambiguous > 0 { applying.append(.held) }
    if summary.failed > 0 { applying.append(.failed) }
    if summary.quarantined > 0 { applying.append(.dataInvalid) }
    if summary.deferred + summary.cutOff + summary.waiting > 0 || summary.leftForeign { applying.append(.deferred) }
    switch summary.end {
    case .done, .paused: break
    case .busy: applying.append(.deferred)
    case .timeUp, .signal, .broken: if summary.leftDue > 0 { applying.append(.deferred) }
    }
    return .first(of: applying)
}
