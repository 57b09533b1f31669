import Drain
import Policy
import Spool

struct ShowCommand: Command {
    static let name = "show"

    var ids: [String] = []
    var request = RequestOptions()
    var global = GlobalOptions()

    mutating func take(operands: [String]) { ids = operands }

    static var options: [Option<Self>] {
        RequestOptions.options.map { $0.within(\.request) }
        GlobalOptions.options.map { $0.within(\.global) }
    }

    static let description = CommandDescription(
        Self.self, "show operations with all their attempts",
        """
        Prints what each operation waits for and why, its fields, each attempt with the server's answer and the rule \
        that decided, and the beginning of its body; with --json the whole body. It prints a file in quarantine with \
        its reason.

        With --request it prints the request that would send each operation alone, whatever the operation waits for. \
        `drainq run --dry-run --request` shows batches and merged documents.
        """,
        operands: .ids, exclusive: [[.curl, .json]],
        onlyPrints: true,
        examples: [
            Example("drainq show 6f9619ff-8b86-4011-b42d-00cf4fc964ff", "show one operation with its attempts"),
            Example(
                "drainq show --request 6f9619ff-8b86-4011-b42d-00cf4fc964ff", "show the request that would send it"),
            Example("drainq list --state failed --json | jq -r .id | drainq show -", "show all failed operations"),
        ])

    func perform(environment: [String: String]) throws -> ExitStatus {
        let queue = try OpenQueue(global, environment)
        let targets = try namedTargets(ids)
        var showing = Showing(self, queue, try queue.destinationsOfThisMachine(), .forResults(environment))
        let found = try queue.spool.found(targets, withCopies: true)
        try showing.findNewer(than: found.values.joined())
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
    /// Why `retry` leaves dead letters and files in quarantine alone: a newer value of their key.
    private var newer: [EntryName: OperatorAction.Objection] = [:]
    private var isFirst = true
    private let preview: RequestPreview?
    private(set) var requests: RequestPrinter

    init(_ command: ShowCommand, _ queue: OpenQueue, _ known: KnownDestinations, _ terminal: Terminal) {
        self.queue = queue
        self.known = known
        now = .now()
        asJSON = command.global.isJSON
        self.terminal = terminal
        preview = command.request.showsRequests ? queue.preview() : nil
        requests = RequestPrinter(options: command.request, asJSON: asJSON, terminal: terminal)
    }

    mutating func findNewer(than found: some Sequence<FoundTarget>) throws {
        let entries = found.compactMap { (target) -> Entry? in
            switch target {
            case .operation(let entry): entry
            case .quarantined(let item): item.name.map { Entry(state: .quarantine, name: $0) }
            }
        }
        newer = try OperatorAction.retry().newer(than: entries, in: queue.spool, queue.configuration, at: now)
            .mapValues(OperatorAction.Objection.isSuperseded)
    }

    mutating func show(_ mentioned: FoundTarget) throws {
        switch mentioned {
        case .operation(let entry): try show(entry)
        case .quarantined(let item):
            if asJSON { return JSONLine.write(QuarantineView(item: item, header: try queue.spool.header(of: item))) }
            let command = commandBesideRetry(item, in: queue)
            let entry = item.name.map { Entry(state: .quarantine, name: $0) }
            var operation: Operation?
            if let entry, item.isOperation, case .operation(let stored) = try queue.spool.read(entry) {
                operation = stored.operation
            }
            write(
                OperationReport.lines(
                    of: item, content: try queue.spool.content(of: item), command,
                    objection: entry.flatMap { objection(toRetryOf: $0, operation) }, now, terminal))
        }
    }

    /// Returns why `retry` leaves an operation alone; `nil` if it does not. `operation` is `nil` if it is not known.
    private func objection(toRetryOf entry: Entry, _ operation: Operation?) -> OperatorAction.Objection? {
        newer[entry.name]
            ?? operation.flatMap {
                OperatorAction.retry().objection(toRetryOf: $0, in: entry.state, queue.configuration, at: now)
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
            var waiting = order?.waiting(of: entry)
            if waiting == .nothing, let defect = queue.defectOfOwnSecrets(of: stored.operation) {
                waiting = .secret(defect)
            }
            if case .kept(let lack) = waiting, let unserved = try order?.unserved(lack, of: entry) {
                waiting = .unserved(unserved)
            }
            var view = queue.view(entry, known)
            view.operation = stored.operation
            view.waitsFor = waiting.flatMap(WaitView.init)
            view.destinationHold = known.states[view.destination]?.hold.map(HoldView.init)
            if asJSON { return JSONLine.write(OperationDetails(entry: view, operation: stored.operation)) }
            let refusal = known.states[view.destination]?.parking[Age(entry.name)]
            write(
                OperationReport(
                    view: view, operation: stored.operation, waiting: waiting,
                    objection: objection(toRetryOf: entry, stored.operation),
                    defect: entry.state == .delivered ? nil : queue.defect(of: stored.operation),
                    runs: try queue.spool.runs(), hold: view.destinationHold,
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
