import Drain
import Policy
import Spool

/// The report of one `add` or `import`: a line for each operation on standard output, and the statuses that apply.
final class AddReport {
    /// The command's verb, as in `cannot add` and `added`.
    private let verb: String
    private let isJSON: Bool
    /// Whether the command waits for the operations, and prints what comes of them instead of their ids.
    private let waits: Bool
    /// Whether the JSON of an operation that entered has its state.
    private let tellsState: Bool
    /// The operations to wait for.
    private(set) var awaited: [Entry] = []
    private(set) var applying: Set<ExitStatus> = []
    /// The number of operations that entered, and of those that were in the queue already.
    private(set) var entered = 0
    private(set) var duplicates = 0
    /// The operations that made room for the batch, for the log, and its files that went into quarantine.
    private var evicted: [EntryName] = []
    private var quarantined: [QuarantineItem] = []
    /// The first of the operations that entered, and of those that replaced another one, for the log.
    private(set) var enteredIDs: [String] = []
    private(set) var replacedIDs: [String] = []
    private(set) var replaced = 0
    /// The operations of the batch that were to be replaced, and have left the queue.
    private var gone: [OperationID] = []
    /// Whether the queue has answered for a part of the input.
    private var hasAdded = false

    init(verb: String, isJSON: Bool, waits: Bool = false, tellsState: Bool = false) {
        (self.verb, self.isJSON, self.waits, self.tellsState) = (verb, isJSON, waits, tellsState)
    }

    /// Lets `work` put operations in by an adder that reports here. Each batch goes by the configuration of its moment.
    func withAdder(to queue: RenewedQueue, _ options: Adder.Options, _ work: (inout Adder) throws -> Void) throws {
        var adder = Adder(to: queue.queue.spool, { queue.renewed().configuration }, options, clock: .ofProcess) {
            event in
            self.take(event)
            if case .batchEnded = event {
                self.reportGone(from: queue.queue.spool)
                self.recordRemoved(by: queue.queue)
            }
        }
        do {
            try work(&adder)
            if let failure = queue.failure { applying.insert(failure.status) }
            try stopIfUnread()
        } catch let failure as AdderError {
            throw CommandFailure(
                failure.error, hasBegun: failure.hasAdded, verb: verb, from: failure.place.line,
                of: failure.place.source)
        } catch let error as SpoolError {
            throw CommandFailure(error, hasBegun: adder.hasAdded)
        }
    }

    func take(_ event: AdderEvent) {
        switch event {
        case .answered(let submission, let result, let place, let replaces):
            answer(submission, result, place, replaces: replaces)
        case .refused(let place, let reason, let path, let error):
            applying.insert(.dataInvalid)
            if let path {
                let name = path.split(separator: "/").last.map(String.init) ?? path
                quarantined.append(.refused(as: name, reason: reason))
            }
            if let error { applying.insert(CommandFailure(error, hasBegun: hasAdded).status) }
            if isJSON {
                JSONLine.write(AddResult(error: reason, path: path, source: place.source, line: place.line))
            }
            Messages.error(
                "cannot \(verb) \(place): \(reason)",
                hint: path.map { "kept as '\($0)'" }
                    ?? error.map { "drainq could not keep it in quarantine either: \($0)" })
        case .added(let accepted):
            hasAdded = true
            evicted += accepted.evicted.map(\.name)
            if !reportEvicted(accepted) { applying.insert(.inputOutput) }
            standardOutput.flush()
        case .batchEnded: break
        }
    }

    /// Records what the batch has evicted and quarantined, and forgets it. The next run calls the hook as its user.
    private func recordRemoved(by queue: OpenQueue) {
        defer { (evicted, quarantined) = ([], []) }
        queue.noteEvictions(evicted)
        do throws(SpoolError) {
            try queue.note(quarantined.map { .quarantined($0) })
        } catch {
            Messages.warning(error.description, hint: error.hint)
        }
    }

    /// Reports a body file that cannot be used. Quarantine gets nothing: the file stays where it is.
    func refuse(bodyFile path: String, _ refusal: BodyFileRefusal) {
        applying.insert(refusal.status)
        let reason = "the body file \(refusal)"
        if isJSON { JSONLine.write(AddResult(error: reason, source: path)) }
        let isOfKey =
            switch refusal {
            case .noRoots, .outside: true
            default: false
            }
        Messages.error(
            "cannot \(verb) '\(path)': \(reason)", hint: isOfKey ? "see bodyFiles in drainq-config(5)" : nil)
    }

    /// Ends the input if nobody reads the output any more: who does not see the ids cannot know what was added.
    func stopIfUnread() throws(CommandFailure) {
        try standardOutput.requireReader(
            of: "ids", "drainq reads no further line",
            hint: "\(InWords.count(entered, "operation")) of this input entered the queue: '\(pasted("list"))'")
    }

    /// Ends a command with `--atomic` that has taken no operation, because the queue refused one.
    func requireAll() throws(CommandFailure) {
        if entered > 0 || applying.isEmpty { return }
        throw CommandFailure(
            .first(of: applying), "no operation was \(verb)ed",
            hint: "with --atomic the command \(verb)s all operations or none")
    }

    private func keptOut(_ id: String, _ reason: String) {
        applying.insert(.deferred)
        if isJSON { JSONLine.write(AddResult(id: id, state: QueueState.claimed.word, error: reason)) }
        Messages.warning("'\(id)': \(reason)", hint: pasted("show", id))
    }

    /// Reports the operations that have left the queue, and how each ended. Reads the endings once a batch.
    private func reportGone(from spool: SpoolDirectory) {
        if gone.isEmpty { return }
        applying.insert(.failed)
        // try?: the report lacks how they ended.
        let endings = (try? spool.endings(of: Set(gone)).last) ?? [:]
        for id in gone {
            let how =
                switch endings[id] {
                case .delivered: "it was delivered"
                case .event(let event): "it \(Waiting.words(event).1)"
                case nil: "it is not in the queue any more"
                }
            let reason = "\(how), and was not replaced"
            if isJSON { JSONLine.write(AddResult(id: id.description, error: reason)) }
            let isDelivered = if case .delivered = endings[id] { true } else { false }
            Messages.error(
                "'\(id)': \(reason)", hint: isDelivered ? nil : "'\(pasted("import"))' without --replace adds it")
        }
        gone = []
    }

    private func answer(_ submission: Submission, _ result: Acceptance, _ place: GivenValue.Place, replaces: Bool) {
        let id = submission.header.id.description
        switch result {
        case .accepted:
            entered += 1
            if replaces {
                replaced += 1
                if replacedIDs.count < LogEvent.mostIDs { replacedIDs.append(id) }
            } else if enteredIDs.count < LogEvent.mostIDs {
                enteredIDs.append(id)
            }
            if waits { awaited.append(submission.entry) }
            let state = tellsState ? submission.entry.state.word : nil
            if isJSON {
                JSONLine.write(AddResult(id: id, state: state, replaced: replaces ? true : nil))
            } else if !waits {
                standardOutput.line(id)
            }
        case .duplicate(let state):
            duplicates += 1
            if waits { awaited.append(Entry(state: state, name: submission.entry.name)) }
            if isJSON {
                JSONLine.write(AddResult(id: id, state: state.word, duplicate: true))
            } else {
                if !waits { standardOutput.line(id) }
                Messages.notice("'\(id)' is in the queue already (\(state.word)): not \(verb)ed again")
            }
        case .inFlight: keptOut(id, "it is in flight, and was not replaced")
        case .isBeingSent: keptOut(id, "another process sends or drops an operation of this id: not \(verb)ed")
        case .isGone: gone.append(submission.header.id)
        case .rejected(let limit):
            applying.insert(.inputOutput)
            if isJSON { JSONLine.write(AddResult(error: "\(limit)", source: place.source, line: place.line)) }
            let isOfBody = if case .operationBytes = limit { true } else { false }
            Messages.error(
                "cannot \(verb) \(place): \(limit)",
                hint: isOfBody
                    ? "it is limits.operationBytes; 'drainq add --body-file FILE' sends a large body from its file"
                    : "see limits in drainq-config(5)")
        case .notAttempted:
            if isJSON {
                let reason = "not \(verb)ed: --atomic \(verb)s all operations or none"
                JSONLine.write(AddResult(error: reason, source: place.source, line: place.line))
            }
        case .refused: preconditionFailure("the adder reports a refused operation as a refused value")
        }
    }
}
