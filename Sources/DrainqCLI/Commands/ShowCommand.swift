import Drain
import Policy
import Spool

/// Performs `drainq show`: prints each operation with its fields, its state and the result of each attempt.
func show(_ arguments: ShowArguments, environment: [String: String]) throws(CommandFailure) -> ExitStatus {
    try failing {
        let queue = try OpenQueue(arguments.queue, environment)
        let targets = try namedTargets(arguments.ids)
        var showing = Showing(arguments, queue, try queue.destinationsOfThisMachine(), .forResults(environment))
        let found = try queue.spool.found(targets, withCopies: true)
        var status = ExitStatus.ok
        for target in targets {
            guard let found = found[target] else {
                Messages.error("no operation '\(target)' in the queue", hint: pasted("list"))
                status = .failed
                continue
            }
            for one in found { try showing.show(one) }
        }
        return showing.requests.hasFailed ? .failed : status
    }
}

private struct Showing {
    let queue: OpenQueue
    let known: KnownDestinations
    let now: Timestamp
    let asJSON: Bool
    let terminal: Terminal
    /// The reasons, found when the first operation is shown.
    private var order: QueueView?
    private var isFirst = true
    private let preview: RequestPreview?
    private(set) var requests: RequestPrinter

    init(_ arguments: ShowArguments, _ queue: OpenQueue, _ known: KnownDestinations, _ terminal: Terminal) {
        self.queue = queue
        self.known = known
        now = .now()
        asJSON = arguments.isJSON
        self.terminal = terminal
        preview = arguments.request.showsRequests ? queue.preview() : nil
        requests = RequestPrinter(arguments.request, asJSON: asJSON, terminal)
    }

    mutating func show(_ mentioned: FoundTarget) throws {
        switch mentioned {
        case .operation(let entry): try show(entry)
        case .quarantined(let item):
            if asJSON { return JSONLine.write(QuarantineView(item, key: try queue.spool.key(of: item))) }
            write(OperationReport.lines(of: item, content: try queue.spool.content(of: item), now, terminal))
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
            if let preview {
                let destination = known.table.destination(of: entry.name)
                let request = try preview.request(of: stored.operation, entry.name, to: destination)
                return requests.print(request)
            }
            if order == nil { order = try QueueView(queue.spool, queue.configuration, known, at: now) }
            let waiting = order?.waiting(of: entry)
            var view = queue.view(entry, known)
            view.add(stored.operation, on: queue.configuration.route(of: entry.name.type))
            view.waitsFor = waiting.flatMap(WaitView.init)
            view.destinationHold = known.states[view.destination]?.hold.map(HoldView.init)
            if asJSON {
                return JSONLine.write(OperationDetails(entry: view, operation: stored.operation))
            }
            let refusal = known.states[view.destination]?.parking[entry.name.id]
            write(
                OperationReport(
                    view: view, operation: stored.operation, waiting: waiting, hold: view.destinationHold,
                    refusal: refusal, now: now,
                    terminal: terminal
                ).lines)
        }
    }

    private mutating func write(_ lines: [String]) {
        if !isFirst { standardOutput.line("") }
        isFirst = false
        lines.forEach(standardOutput.line)
    }
}
