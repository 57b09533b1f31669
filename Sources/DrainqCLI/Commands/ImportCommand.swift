import Drain
import Spool

struct ImportCommand: Command {
    static let name = "import"

    /// The files to read; `-` or an empty list is standard input.
    var files: [String] = []
    var isAtomic = false
    var replaces = false
    var sync = Sync.full
    var global = GlobalOptions()

    mutating func take(operands: [String]) { files = operands }

    static var options: [Option<Self>] {
        Option.atomic(\.isAtomic)
        Option(
            .replace, \.replaces, "replace operations that have the same id",
            """
            An operation takes the place of the one in the queue that has its id, in one step: after a crash one of \
            the two is there. Both must have the same type, key, origin of a url of their own and time of creation; for \
            any other change drop the operation and import the new one. The operation keeps the state, the attempts, \
            the due time and the hold that it has in the queue. The command does not replace an operation that is in \
            flight: it reports the operation and ends with 75. It does not replace one in quarantine. An operation \
            that has left the queue, as by its delivery, stays out of it: the command reports it and ends with 1. It \
            reads the input to its end before it replaces anything, so that the input may come from `drainq export` of \
            the same queue.
            """)
        Option.sync(\.sync)
        GlobalOptions.options.map { $0.within(\.global) }
    }

    static let description = CommandDescription(
        Self.self, "import operations that drainq export has printed",
        """
        Reads operations as `drainq export` prints them from the files, or from standard input, and puts each into the \
        queue as it was: with its id, its time of creation, its attempts, its state and when it is due. Prints the \
        ids, one on each line, once the operations are safe on disk. The command leaves an id that is in the queue \
        already as it is, and reports it; if all of them are, it imports no operation, and the status is 1. With \
        --replace an operation replaces the one that has its id. If its payload, url or method is another, it gets an \
        idempotency key of its own, which drainq show prints: the server may have the old request, and would take the \
        new one for its repetition. If the line has another idempotencyKey, it gets that.

        A line that is not such an operation is reported with its number and kept in `quarantine/`; the others are \
        imported, and the exit status is 65. With --atomic the command imports all operations or none.
        """,
        operands: .files,
        examples: [
            Example("drainq import -q /var/spool/new backup.ndjson", "import an export into a new queue"),
            Example(
                """
                drainq export --state failed | jq -c '.payload.version = 2' | drainq import --replace | drainq retry -
                """,
                "edit failed operations, and retry them"),
            Example(
                "drainq export -q /var/spool/old | drainq import -q /var/spool/new", "move operations to another queue"),
        ])

    func perform(environment: [String: String]) throws -> ExitStatus {
        let queue = RenewedQueue(try OpenQueue(global, environment), global)
        let report = AddReport(verb: Self.name, isJSON: global.isJSON, tellsState: true)
        defer {
            let queue = queue.queue
            queue.log(Self.name, of: report.enteredIDs, count: report.entered - report.replaced)
            queue.log("\(Self.name) --replace", of: report.replacedIDs, count: report.replaced)
        }
        let reading = Reading(replaces ? .replacement : .export)
        let options = Adder.Options(reading, isAtomic: isAtomic, replaces: replaces, isDurable: sync.isDurable)
        try report.withAdder(to: queue, options) { adder in
            try read(into: &adder, report)
            _ = try adder.end()
            if isAtomic { try report.requireAll() }
        }
        if report.entered == 0, report.duplicates > 0, report.applying.isEmpty {
            let command = pasted("import", "--replace")
            throw CommandFailure(
                .failed, "no operation was imported: every id is in the queue already",
                hint: "'\(command)' replaces the operations in the queue")
        }
        return .first(of: report.applying)
    }

    /// The longest value in bytes, enough for the base64 of the largest body. A longer one is a bad part.
    private static let longestLine = 512 * 1_048_576

    private func read(into adder: inout Adder, _ report: AddReport) throws {
        try InputSource.forEach(files.isEmpty ? ["-"] : files) {
            try adder.pause()
        } read: { source in
            try source.forEachValue(upTo: Self.longestLine) {
                try adder.pause()
            } refuse: {
                try adder.refuse($0, reason: $1)
            } take: { given in
                try report.stopIfUnread()
                let operation: PortableOperation
                do throws(OperationFileError) {
                    operation = try PortableOperation(
                        json: given.text, file: given.place.source, line: given.place.line)
                } catch {
                    return try adder.refuse(given, reason: error.detail)
                }
                try adder.take(operation, given)
            }
        }
    }
}
