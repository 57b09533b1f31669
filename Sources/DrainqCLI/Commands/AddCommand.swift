import Drain
import Policy
import Spool

/// Performs `drainq add`: queues an operation for each JSON value of the input, and prints its id once it is safe.
func add(_ arguments: AddArguments, environment: [String: String]) throws(CommandFailure) -> ExitStatus {
    try failing {
        let queue = try OpenQueue(arguments.queue, environment)
        var addition = Adder(queue: queue, arguments: arguments)
        do {
            try addition.perform()
        } catch let error as SpoolError {
            throw CommandFailure(error, hasBegun: addition.hasAnswered)
        }
        return .first(of: addition.applying)
    }
}

/// The work of one `add`: gathers operations into batches, gives them to the spool and prints an answer for each.
private struct Adder {
    /// The most operations, and bytes, that share a sync of the directory. A pause of the input ends a batch too.
    private static let batchSize = RefusedValues.batchSize
    private static let batchBytes = RefusedValues.batchBytes

    let queue: OpenQueue
    let arguments: AddArguments
    private var control: AdmissionControl
    private var batch: [OperationInput.Given] = []
    private var batchLength = 0
    /// Values that are no operations. They go to quarantine with the batch.
    private var refused: RefusedValues
    private(set) var applying: Set<ExitStatus> = []
    private(set) var hasAnswered = false

    init(queue: OpenQueue, arguments: AddArguments) {
        self.queue = queue
        self.arguments = arguments
        control = AdmissionControl(queue.configuration)
        refused = RefusedValues(
            queue: queue, verb: "add", isAtomic: arguments.isAtomic, sync: arguments.sync, isJSON: arguments.isJSON)
    }

    mutating func perform() throws {
        let now = Timestamp.now()
        let notBefore = arguments.at?.timestamp(now: now) ?? arguments.delay.map { now + $0 }
        var input = OperationInput(queue: queue, options: arguments.input, notBefore: notBefore, at: now)
        try input.read { item in
            try take(item)
        } pause: {
            if !isAtomic { try flush() }
        }
        if isAtomic, !applying.isEmpty {
            let status = ExitStatus.first(of: applying)
            reportRefused()
            throw nothingAdded(status)
        }
        try flush()
        if isAtomic, applying.contains(.dataInvalid) { throw nothingAdded(.dataInvalid) }
    }

    private var isAtomic: Bool { arguments.isAtomic }

    private func nothingAdded(_ status: ExitStatus) -> CommandFailure {
        CommandFailure(status, "no operation was added", hint: "with --atomic the command adds all operations or none")
    }

    private mutating func take(_ item: OperationInput.Item) throws {
        switch item {
        case .operation(let given):
            batch.append(given)
            batchLength += given.operation.body.count
            try flushIfFull()
        case .refused(let text, let place, let reason):
            applying.insert(.dataInvalid)
            refused.append(text, place.source, place.line, reason: reason)
            batchLength += text.count
            try flushIfFull()
        case .refusedFile(let path, let refusal):
            // Quarantine gets nothing: the body file stays where it is.
            applying.insert(refusal.status)
            let reason = "the body file \(refusal)"
            if arguments.isJSON { JSONLine.write(AddResult(error: reason, source: path)) }
            Messages.error(
                "cannot add '\(path)': \(reason)", hint: refusal.isFault ? nil : "see bodyFiles in drainq-config(5)")
        }
    }

    private mutating func flushIfFull() throws {
        let isFull = batch.count + refused.count >= Self.batchSize || batchLength >= Self.batchBytes
        if isFull, !isAtomic { try flush() }
    }

    private mutating func reportRefused() {
        if !refused.report() { applying.insert(.inputOutput) }
    }

    // MARK: - Output

    /// Gives the batch to the spool and prints the answers. From then on these operations are safe.
    private mutating func flush() throws {
        reportRefused()
        batchLength = 0
        if batch.isEmpty { return }
        let taken = batch
        batch = []
        let accepted: Accepted
        do throws(SpoolError) {
            accepted = try queue.spool.accept(
                taken.map(\.submission), within: &control, durable: arguments.sync.isDurable,
                allOrNone: isAtomic)
        } catch {
            throw CommandFailure(
                error, hasBegun: hasAnswered, verb: "add", from: taken[0].place.line, of: taken[0].place.source)
        }
        for (given, result) in zip(taken, accepted.results) { answer(given, result) }
        reportRefused()
        hasAnswered = true
        if !reportEvicted(accepted) { applying.insert(.inputOutput) }
        standardOutput.flush()
    }

    private mutating func answer(_ given: OperationInput.Given, _ result: Acceptance) {
        let id = given.operation.header.id.description
        let isJSON = arguments.isJSON
        switch result {
        case .accepted:
            if isJSON { JSONLine.write(AddResult(id: id)) } else { standardOutput.line(id) }
        case .duplicate(let state):
            if isJSON {
                JSONLine.write(AddResult(id: id, state: state.word, duplicate: true))
            } else {
                standardOutput.line(id)
                Messages.notice("'\(id)' is in the queue already (\(state.word)): not added again")
            }
        case .rejected(let limit) where !limit.isOfQueue:
            applying.insert(.dataInvalid)
            refused.append(given.text, given.place.source, given.place.line, reason: "\(limit)")
        case .rejected(let limit):
            applying.insert(.inputOutput)
            if isJSON {
                JSONLine.write(AddResult(error: "\(limit)", source: given.place.source, line: given.place.line))
            }
            Messages.error(
                "cannot add line \(given.place.line) of '\(given.place.source)': \(limit)",
                hint: "see limits in drainq-config(5)")
        case .refused(let reason):
            applying.insert(.dataInvalid)
            refused.append(given.text, given.place.source, given.place.line, reason: reason)
        case .inFlight, .notAttempted:
            if !applying.contains(.dataInvalid) { applying.insert(.inputOutput) }
            if isJSON {
                JSONLine.write(
                    AddResult(
                        error: "not added: --atomic adds all operations or none", source: given.place.source,
                        line: given.place.line))
            }
        }
    }
}
