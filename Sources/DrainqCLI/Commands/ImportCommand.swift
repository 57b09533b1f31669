import Drain
import Policy
import Spool

/// Performs `drainq import`: restores operations that `export` printed, and prints each id once it is safe.
func importOperations(_ arguments: ImportArguments, environment: [String: String]) throws(CommandFailure) -> ExitStatus
{
    try failing {
        let queue = try OpenQueue(arguments.queue, environment)
        var importation = try Importer(queue: queue, arguments: arguments)
        do {
            try importation.read()
            try importation.end()
        } catch let error as SpoolError {
            throw CommandFailure(error, hasBegun: importation.hasAnswered)
        }
        return .first(of: importation.applying)
    }
}

/// The work of one `import`: gathers operations into batches, gives them to the spool and prints an answer for each.
private struct Importer {
    /// The most operations, and bytes of them, that share one sync.
    private static let batchSize = RefusedValues.batchSize
    private static let batchBytes = RefusedValues.batchBytes
    /// The longest value in bytes, enough for the base64 of the largest body. A longer one is an error.
    private static let longestLine = 512 * 1_048_576

    let queue: OpenQueue
    let arguments: ImportArguments
    private var control: AdmissionControl
    private var last = Timestamp(microseconds: 0)
    private var batch: [(submission: Submission, text: [UInt8], source: String, line: Int)] = []
    private var bytes = 0
    /// Values that are no operations. They go to quarantine together.
    private var refused: RefusedValues
    private(set) var applying: Set<ExitStatus> = []
    private(set) var hasAnswered = false
    /// The number of operations imported, and of those that were in the queue already.
    private var imported = 0
    private var duplicates = 0
    /// Operations of the last batch that have replaced others.
    private var replaced: Set<OperationID> = []
    private var isAtomic: Bool { arguments.isAtomic }
    /// Whether the command reads the whole input before it writes. `--replace` may read the `export` of this queue.
    private var gathersAll: Bool { isAtomic || arguments.replaces }

    init(queue: OpenQueue, arguments: ImportArguments) throws {
        self.queue = queue
        self.arguments = arguments
        control = AdmissionControl(queue.configuration)
        refused = RefusedValues(
            queue: queue, verb: "import", isAtomic: arguments.isAtomic, sync: arguments.sync, isJSON: arguments.isJSON)
    }

    mutating func read() throws {
        for path in arguments.files.isEmpty ? ["-"] : arguments.files {
            do {
                try read(from: path)
            } catch {
                // The operations before the error are imported.
                try pause()
                throw error
            }
        }
    }

    /// Flushes, because the next part of the input may come late or not at all.
    private mutating func pause() throws {
        if gathersAll { reportRefused() } else { try flush() }
    }

    private mutating func read(from path: String) throws {
        let source = try InputSource(path)
        var input = JSONInput()
        while true {
            if !source.isReady { try pause() }
            let chunk = try source.next(atMost: max(65_536, min(input.pending, 16 * 1_048_576)))
            for item in input.feed(chunk, atEnd: chunk.isEmpty) { try take(item, source.name) }
            if chunk.isEmpty { return }
            if input.pending > Self.longestLine {
                throw CommandFailure(
                    .dataInvalid, "cannot read '\(source.name)': a value is longer than \(Self.longestLine) bytes")
            }
        }
    }

    mutating func end() throws {
        let noneImported = CommandFailure(
            .dataInvalid, "no operation was imported", hint: "with --atomic the command imports all operations or none")
        reportRefused()
        if isAtomic, applying.contains(.dataInvalid) { throw noneImported }
        while !batch.isEmpty { try flush() }
        if isAtomic, applying.contains(.dataInvalid) { throw noneImported }
        guard imported == 0, duplicates > 0, applying.isEmpty else { return }
        let command = pasted("import", "--replace")
        throw CommandFailure(
            .failed, "no operation was imported: every id is in the queue already",
            hint: "'\(command)' replaces the operations in the queue")
    }

    private mutating func take(_ item: JSONInput.Item, _ source: String) throws {
        switch item {
        case .bad(let text, let line, let mistake, let reason):
            refuse(text, source, line, mistake == line ? reason : "\(reason) in line \(mistake)")
        case .value(let text, let line):
            do throws(OperationFileError) {
                let operation = try PortableOperation(json: text, file: source, line: line)
                last = max(.now(), last + .microseconds(1))
                batch.append((Submission(operation, at: last), text, source, line))
                bytes += text.count
            } catch {
                return refuse(text, source, line, error.detail)
            }
            if !gathersAll, batch.count >= Self.batchSize || bytes >= Self.batchBytes { try flush() }
        }
    }

    private mutating func refuse(_ text: [UInt8], _ source: String, _ line: Int, _ reason: String) {
        applying.insert(.dataInvalid)
        refused.append(text, source, line, reason: reason)
        if refused.isFull { reportRefused() }
    }

    private mutating func reportRefused() {
        if !refused.report() { applying.insert(.inputOutput) }
    }

    // MARK: - Output

    /// Gives the batch to the spool and prints the answers. From then on these operations are safe.
    private mutating func flush() throws {
        reportRefused()
        if batch.isEmpty { return }
        let taken = isAtomic ? batch : Array(batch.prefix(Self.batchSize))
        batch.removeFirst(taken.count)
        bytes = 0
        let accepted: Accepted
        do throws(SpoolError) {
            accepted = try queue.spool.accept(
                taken.map(\.submission), within: &control, durable: arguments.sync.isDurable,
                allOrNone: isAtomic, replacing: arguments.replaces)
        } catch {
            throw CommandFailure(error, hasBegun: hasAnswered, verb: "import", from: taken[0].line, of: taken[0].source)
        }
        replaced = Set(accepted.replaced.map(\.name.id))
        for ((submission, text, source, line), result) in zip(taken, accepted.results) {
            answer(submission, text, source, line, result)
        }
        reportRefused()
        hasAnswered = true
        if !reportEvicted(accepted) { applying.insert(.inputOutput) }
        standardOutput.flush()
    }

    private mutating func answer(
        _ submission: Submission, _ text: [UInt8], _ source: String, _ line: Int, _ result: Acceptance
    ) {
        let id = submission.header.id.description
        switch result {
        case .accepted:
            imported += 1
            if arguments.isJSON {
                JSONLine.write(
                    AddResult(
                        id: id, state: submission.entry.state.word,
                        replaced: replaced.contains(submission.header.id) ? true : nil))
            } else {
                standardOutput.line(id)
            }
        case .inFlight:
            applying.insert(.deferred)
            let reason = "it is in flight, and was not replaced"
            if arguments.isJSON { JSONLine.write(AddResult(id: id, state: QueueState.claimed.word, error: reason)) }
            Messages.warning("'\(id)': \(reason)", hint: pasted("show", id))
        case .duplicate(let state):
            duplicates += 1
            if arguments.isJSON {
                JSONLine.write(AddResult(id: id, state: state.word, duplicate: true))
            } else {
                standardOutput.line(id)
                Messages.notice("'\(id)' is in the queue already (\(state.word)): not imported again")
            }
        case .rejected(let limit) where !limit.isOfQueue: refuse(text, source, line, "\(limit)")
        case .rejected(let limit):
            applying.insert(.inputOutput)
            if arguments.isJSON {
                JSONLine.write(AddResult(error: "\(limit)", source: source, line: line))
            }
            Messages.error(
                "cannot import line \(line) of '\(source)': \(limit)", hint: "see limits in drainq-config(5)")
        case .refused(let reason): refuse(text, source, line, reason)
        case .notAttempted:
            if !applying.contains(.dataInvalid) { applying.insert(.inputOutput) }
            if arguments.isJSON {
                JSONLine.write(
                    AddResult(
                        error: "not imported: --atomic imports all operations or none", source: source, line: line))
            }
        }
    }
}
