import Drain
import Policy
import Spool

/// `drainq show`: one operation as a story: what it asks for, where it is, what each attempt met.
func show(_ arguments: ShowArguments, environment: [String: String]) throws(CommandFailure) -> ExitStatus {
    try failing {
        let queue = try OpenQueue(arguments.queue, environment)
        let mentions = try givenMentions(arguments.ids)
        var showing = Showing(
            queue: queue, known: try queue.knownDestinations(), now: .now(), asJSON: arguments.isJSON,
            terminal: .forResults(environment))
        let found = try queue.mentioned(mentions)
        var status = ExitStatus.ok
        for mention in mentions {
            guard let found = found[mention] else {
                Messages.error("no operation '\(mention)' in the queue", hint: pasted("list"))
                status = .failed
                continue
            }
            for one in found { try showing.show(one) }
        }
        return status
    }
}

private struct Showing {
    let queue: OpenQueue
    let known: KnownDestinations
    let now: Timestamp
    let asJSON: Bool
    let terminal: Terminal
    /// Taken when an operation is shown.
    private var waitReasons: WaitReasons?
    private var isFirst = true

    init(queue: OpenQueue, known: KnownDestinations, now: Timestamp, asJSON: Bool, terminal: Terminal) {
        self.queue = queue
        self.known = known
        self.now = now
        self.asJSON = asJSON
        self.terminal = terminal
    }

    mutating func show(_ mentioned: Mentioned) throws {
        switch mentioned {
        case .operation(let entry): try show(entry)
        case .quarantined(let item):
            if asJSON { return JSONLine.write(QuarantineView(item)) }
            tell(StoryReport.lines(of: item, content: try queue.spool.content(of: item), now, terminal))
        }
    }

    private mutating func show(_ entry: Entry) throws {
        guard let file = try queue.spool.read(entry) else { return }
        switch file {
        case .notAnOperation(let reason):
            Messages.error("cannot read '\(entry.path)': \(reason)", hint: pasted("check"))
        case .newerFormat(let version):
            Messages.error("'\(entry.path)' has format \(version), newer than this drainq reads")
        case .operation(let stored):
            if waitReasons == nil { waitReasons = try WaitReasons(queue.spool, queue.configuration, known, at: now) }
            let waiting = waitReasons?.waiting(of: entry)
            var view = queue.view(entry, known)
            view.add(stored.operation)
            view.waitsFor = waiting.flatMap(WaitView.init)
            let hold = known.states[view.destination]?.hold.map(HoldView.init)
            if asJSON { return JSONLine.write(Story(view, stored.operation, hold)) }
            tell(
                StoryReport(
                    view: view, operation: stored.operation, waiting: waiting, hold: hold, now: now, terminal: terminal
                ).lines)
        }
    }

    private mutating func tell(_ lines: [String]) {
        if !isFirst { standardOutput.line("") }
        isFirst = false
        lines.forEach(standardOutput.line)
    }
}

/// One line of `show --json`, schema 1: what `list` says, and the whole of the operation.
private struct Story: Encodable {
    var entry: EntryView
    var header: OperationHeader
    var bodyLength: Int
    var body: String?
    var history: [RecordView]
    var answer: AnswerView?
    var destinationHold: HoldView?

    init(_ entry: EntryView, _ operation: Operation, _ hold: HoldView?) {
        self.entry = entry
        header = operation.header
        bodyLength = header.bodyFile?.length ?? operation.body.count
        body = header.bodyFile == nil ? String(validating: operation.body, as: UTF8.self) : nil
        history = operation.attempts.map(RecordView.init)
        answer = operation.keptAnswer.map(AnswerView.init)
        destinationHold = hold
    }

    private enum Key: String, CodingKey {
        case method, url, contentType, expiresAt, idempotencyKey, bodyFile, bodyLength, body, history
        case answer, destinationHold
    }

    func encode(to encoder: any Encoder) throws {
        try entry.encode(to: encoder)
        var container = encoder.container(keyedBy: Key.self)
        try container.encodeIfPresent(header.method, forKey: .method)
        try container.encodeIfPresent(header.url, forKey: .url)
        try container.encodeIfPresent(header.contentType, forKey: .contentType)
        try container.encodeIfPresent(header.expiresAt?.rfc3339, forKey: .expiresAt)
        try container.encodeIfPresent(header.idempotencyKey, forKey: .idempotencyKey)
        try container.encodeIfPresent(header.bodyFile?.path, forKey: .bodyFile)
        try container.encode(bodyLength, forKey: .bodyLength)
        try container.encodeIfPresent(body, forKey: .body)
        try container.encode(history, forKey: .history)
        try container.encodeIfPresent(answer, forKey: .answer)
        try container.encodeIfPresent(destinationHold, forKey: .destinationHold)
    }
}
