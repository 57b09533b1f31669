import Drain
import Policy
import Spool

struct ListCommand: Command {
    static let name = "list"

    var limit: Int?
    var isLong = false
    var filter = FilterOptions()
    var global = GlobalOptions()

    static var options: [Option<Self>] {
        Option(
            .limit, .count(1...Int.max), \.limit, "show at most N operations",
            "The most operations to show, oldest first.")
        Option(
            .long, \.isLong, "show the last result of each operation in a long list",
            "Shows LAST for every operation. Without it a list of more than 1,000 operations "
                + "has only what names tell, and opens no file.")
        FilterOptions.options.map { $0.within(\.filter) }
        GlobalOptions.options.map { $0.within(\.global) }
    }

    static let description = CommandDescription(
        Self.self, "list operations",
        """
        Prints one line for each operation: its id, type, state and age, the number of counted attempts and their \
        limit, when a run may send it next or what it waits for, and the result of the last attempt. Filters narrow the \
        list; an operation must pass all of them. A file in quarantine that has no id is listed by its name; other \
        commands take the name in place of an id.

        NEXT is `now`, a time, `held`, `paused`, `behind ID` (an older operation of its key or destination goes \
        first), `for kept NAME` (no answer has provided the value yet), `replaced by ID` (a newer one replaces it), `with ID` (it \
        is merged into a newer one), or `held behind ID` (an older one failed). The destination's reason follows a \
        time: `held` until a probe, `retry-after` if its server asked for time, or `circuit breaker` while that is \
        open. `parked` follows it if the server refused the operation's credentials, and another operation will show \
        whether the operation or the credentials are to blame. `conditions`: this machine lacks its network or the \
        power that `conditions` asks for.

        LAST is the status or error of the last attempt. `?` stands for a result that was not read, because the list \
        has more than 1,000 operations: see `--long`.

        At a terminal the columns fit its width, and on a narrow one each operation has two lines; the id is never \
        cut. Without a terminal no column is cut, and columns are at least two blanks apart.
        """,
        onlyPrints: true,
        examples: [
            Example("drainq list --state failed", "operations that failed for good"),
            Example("drainq list --type crm --since 2h --json", "the last two hours of a type, for another program"),
        ])

    func perform(environment: [String: String]) throws -> ExitStatus {
        let queue = try OpenQueue.showing(global, environment)
        queue.reportBrokenConfiguration()
        let now = Timestamp.now()
        let known = try queue.destinationsOfThisMachine()
        let filter = try OperationFilter(
            filter, states: [.new, .deferred, .claimed, .held, .failed, .quarantined], of: known, now: now)
        let limit = limit ?? .max
        let found = try queue.spool.entries(filter, known)
        reportUnread(found.unread)
        let entries = found.entries.prefix(limit)
        var isEmpty = entries.isEmpty && found.unread == 0
        let terminal = Terminal.forResults(environment)
        var order = try QueueView(queue.spool, queue.configuration, known, at: now)
        let readsFiles = global.isJSON || isLong || entries.count <= listedFiles
        var rows: [[Table.Cell]] = []
        var quarantined: [[Table.Cell]] = []
        for entry in entries {
            var view = queue.view(entry, known)
            let waiting = order.waiting(of: entry)
            view.waitsFor = waiting.flatMap(WaitView.init)
            view.destinationHold = known.states[view.destination]?.hold.map(HoldView.init)
            // A table needs only the last answer from the file: the name has the rest.
            if readsFiles, global.isJSON || entry.mayHaveAttempts,
                case .operation(let stored) = try queue.spool.read(entry)
            {
                view.operation = stored.operation
            }
            if global.isJSON {
                JSONLine.write(view)
            } else {
                let last = readsFiles || !entry.mayHaveAttempts ? view.lastResult ?? "-" : "?"
                rows.append(row(view, last: last, waiting, now, terminal))
            }
        }
        if filter.states.contains(.quarantined) {
            let items = try queue.spool.quarantined().filter(filter.includes).prefix(max(0, limit - entries.count))
            isEmpty = isEmpty && items.isEmpty
            for item in items {
                if global.isJSON {
                    JSONLine.write(QuarantineView(item: item, header: try queue.spool.header(of: item)))
                } else {
                    quarantined.append(row(item, now))
                }
            }
        }
        // A program gets one table. At a terminal the long names of files would leave no room for other columns.
        let tables = terminal.columns == nil ? [rows + quarantined] : [rows, quarantined]
        for rows in tables where !rows.isEmpty {
            Table(columns: columns, rows: rows, narrowings: narrowings).lines(for: terminal)
                .forEach(standardOutput.line)
        }
        if isEmpty, self.filter.isGiven, !global.verbosity.isQuiet { try queue.reportNoMatch(self.filter, known) }
        return .ok
    }
}

/// The most operations whose files a table opens without being asked. After an outage 100,000 are a list of names.
let listedFiles = 1000

private let columns = ["ID", "TYPE", "STATE", "CREATED", "ATTEMPTS", "NEXT", "LAST"].map { Table.Column(title: $0) }

/// The columns that a narrow terminal shrinks or drops, in order. The id is never cut, so that it can be copied.
private let narrowings: [Table.Narrowing] = [
    .shrink(column: 1, to: 10), .shrink(column: 6, to: 10), .drop(column: 3), .shrink(column: 5, to: 16),
    .shrink(column: 6, to: 7), .shrink(column: 1, to: 7), .drop(column: 4), .shrink(column: 5, to: 9),
    .drop(column: 1), .drop(column: 5),
]

private func row(
    _ view: EntryView, last: String, _ waiting: WaitReason?, _ now: Timestamp, _ terminal: Terminal
) -> [Table.Cell] {
    // At a terminal the beginning of another id is enough to find its line.
    func named(_ id: OperationID) -> String {
        terminal.columns == nil ? id.description : id.description.truncated(to: 9)
    }
    return [
        Table.Cell(view.name.id.description), Table.Cell(view.name.type.description),
        Table.Cell(view.state.rawValue, view.state.paint), Table.Cell(InWords.past(view.name.createdAt, from: now)),
        Table.Cell(view.attemptsInWords), Table.Cell(waiting?.words(now, named: named) ?? "-"),
        Table.Cell(last),
    ]
}

extension EntryView {
    /// The result of the last attempt, or why there was none; without either the reason of the hold.
    fileprivate var lastResult: String? {
        last?.status.map { "\($0)" } ?? last?.error ?? last?.rule ?? destinationHold?.hold.shownCause.text
    }
}

/// Returns the row of a file in quarantine, with its id or else the name of its file: other commands take either.
private func row(_ item: QuarantineItem, _ now: Timestamp) -> [Table.Cell] {
    let created = (item.name?.createdAt ?? item.at).map { InWords.past($0, from: now) }
    return [
        Table.Cell(item.name?.id.description ?? item.fileName), Table.Cell(item.type?.description ?? "-"),
        Table.Cell(ShownState.quarantined.rawValue, .bad), Table.Cell(created ?? "-"), Table.Cell("-"), Table.Cell("-"),
        Table.Cell(item.reason ?? "-"),
    ]
}
