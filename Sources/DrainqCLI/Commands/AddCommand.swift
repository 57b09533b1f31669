import Drain
import Policy
import Spool

/// Performs `drainq add`: queues an operation for each JSON value of the input, and prints its id once it is safe.
func add(_ arguments: AddArguments, environment: [String: String]) throws(CommandFailure) -> ExitStatus {
    try failing {
        if arguments.timeout != nil, !arguments.waits {
            throw CommandFailure(.usage, "'--timeout' applies only to '--wait'", hint: "drainq add --wait --timeout D")
        }
        let queue = try OpenQueue(arguments.queue, environment)
        let report = AddReport(verb: .add, isJSON: arguments.isJSON, waits: arguments.waits)
        defer { queue.log(LogEvent.evictions(report.evicted, at: .now())) }
        var adder = Adder(
            to: queue.spool, queue.configuration,
            Adder.Options(isAtomic: arguments.isAtomic, isDurable: arguments.sync.isDurable), clock: .ofProcess
        ) { report.take($0) }
        do {
            let now = Timestamp.now()
            let notBefore = arguments.at?.timestamp(now: now) ?? arguments.delay.map { now + $0 }
            var input = OperationInput(queue: queue, options: arguments.input, notBefore: notBefore, at: now)
            try input.read { item in
                switch item {
                case .operation(let given):
                    try adder.take(given.submission, GivenValue(given.text, given.place.named))
                case .refused(let text, let place, let reason):
                    try adder.refuse(GivenValue(text, place.named), reason: reason)
                case .refusedFile(let path, let refusal):
                    adder.refuseFile()
                    report.refuse(bodyFile: path, refusal)
                }
            } pause: {
                try adder.pause()
            }
            let unusable = report.applying
            guard try adder.end() else {
                throw report.nothingEntered(unusable.isEmpty ? .dataInvalid : .first(of: unusable))
            }
        } catch let error as AdderError {
            throw CommandFailure(error, .add)
        } catch let error as SpoolError {
            throw CommandFailure(error, hasBegun: adder.hasAdded)
        }
        if report.awaited.isEmpty { return .first(of: report.applying) }
        var waiting = Waiting(forAdded: report.awaited, in: queue, asJSON: arguments.isJSON)
        let end = try waiting.wait(atMost: arguments.timeout, isQuiet: arguments.verbosity.isQuiet)
        return .first(of: report.applying.union([end]))
    }
}

extension OperationInput.Place {
    fileprivate var named: GivenValue.Place { GivenValue.Place(source: source, line: line) }
}
