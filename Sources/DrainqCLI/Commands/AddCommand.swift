import Drain
import Policy

struct AddCommand: Command {
    static let name = "add"

    var input = InputOptions()
    var delay: Duration?
    var at: PointInTime?
    var waits = false
    /// The longest time to wait; `nil` waits for ever.
    var timeout: Duration?
    var isAtomic = false
    var sync = Sync.full
    var global = GlobalOptions()

    mutating func take(operands: [String]) { input.files = operands }

    static var options: [Option<Self>] {
        InputOptions.options.map { $0.within(\.input) }
        Option(
            .delay, .duration, \.delay, "make the operations due after this delay",
            "The time that the operations wait before they are due.")
        Option(
            .at, .time(.future), \.at, "make the operations due at this time",
            "The time at which the operations become due. Not together with --delay.")
        Option(
            .wait, \.waits, "wait until they are delivered or have failed",
            """
            Then waits for the operations, as `drainq wait` does, and ends with its status. The command prints the \
            kept answers instead of the ids. A run that is faster than this command makes no difference, as it can \
            for a `drainq wait` that begins later.
            """)
        Option(
            .timeout, .duration, \.timeout, "wait at most this long",
            "How long --wait waits; for ever unless given. The operations stay in the queue.")
        Option.atomic(\.isAtomic)
        Option.sync(\.sync)
        GlobalOptions.options.map { $0.within(\.global) }
    }

    static let description = CommandDescription(
        Self.self, "put operations into the queue",
        """
        Reads JSON from the files, or from standard input, and queues one operation for each value: one value on each \
        line, or documents over several lines. The first line decides: if it has whole values, each line is read by \
        itself. The queue keeps the payload byte for byte. The command prints the ids, \
        one on each line, once the operations are safe on disk.

        A line that is not JSON is reported with its number and kept in `quarantine/`; the others are queued, and the \
        exit status is 65. A document over several lines that has a mistake is kept there as a whole, and none of its \
        lines becomes an operation. A document with a mistake ends before three lines in a row that are whole values, \
        or with the input. If its lines are indented, it also ends before an unindented line that begins with a \
        bracket, such as `{`. With --atomic the command queues all operations or none.

        The input need not end: `tail -n 0 -F app.log | drainq add --type log` follows a file through its rotations, \
        queues each line once its line break is written, and prints the id once the line is safe. If nobody reads the ids \
        any more, the command reads no further line, says how many operations it queued, and ends with 74; tail does \
        not record its place in the file. An edited configuration applies to the lines after it; while it is not valid, \
        the one before applies, a message says so, and the status is 78 if it is not mended before the end. `--type \
        '{payload.level}'` gives each line the type that its member `level` names, and `--key '{payload.user}'` its \
        key.

        With --content-type each file, or the whole of standard input, is the body of one operation and need not be \
        JSON. With --body-file the body stays in its file until it is sent.

        An operation that can never be sent is treated as a bad line: one whose payload does not meet the `require` of \
        its route, or one that lacks a value that a template of its route needs. \
        Options that fit no operation are a mistake of the command, with status 64.
        """,
        operands: .files,
        exclusive: [[.delay, .at]] + InputOptions.exclusive,
        examples: [
            Example(#"printf '{"n":1}\n{"n":2}\n' | drainq add --type t"#, "two operations of the type t"),
            Example(
                "drainq add --type crm --key customer-7 --delay 5m update.json",
                "one operation, due in five minutes"),
            Example("drainq add --type order --wait --timeout 10m order.json", "add it, and print the kept answer"),
            Example("drainq add --content-type text/csv --expires 7d report.csv", "a body that is not JSON"),
            Example(
                "drainq add --type scan --body-file /var/lib/scans/1.tiff --content-type image/tiff",
                "a large file, streamed from its own path"),
        ])

    func perform(environment: [String: String]) throws -> ExitStatus {
        if timeout != nil, !waits {
            throw CommandFailure(.usage, "'--timeout' applies only to '--wait'", hint: "drainq add --wait --timeout D")
        }
        let queue = RenewedQueue(try OpenQueue(global, environment), global)
        let report = AddReport(verb: Self.name, isJSON: global.isJSON, waits: waits)
        let now = Timestamp.now()
        let reading = input.reading(notBefore: at?.timestamp(now: now) ?? delay.map { now + $0 }, at: now)
        let options = Adder.Options(reading, isAtomic: isAtomic, isDurable: sync.isDurable)
        try report.withAdder(to: queue, options) { adder in
            var input = OperationInput(queue: queue.renewed(), options: input, reading: reading)
            try input.read { item in
                try report.stopIfUnread()
                switch item {
                case .operation(let given): try adder.take(given.submission, given.value)
                case .refused(let value, let reason): try adder.refuse(value, reason: reason)
                case .refusedFile(let path, let refusal):
                    adder.refuseFile()
                    report.refuse(bodyFile: path, refusal)
                }
            } pause: {
                try adder.pause()
            }
            _ = try adder.end()
            if isAtomic { try report.requireAll() }
        }
        if report.awaited.isEmpty { return .first(of: report.applying) }
        var waiting = Waiting(forAdded: report.awaited, in: queue.queue, asJSON: global.isJSON)
        let end = try waiting.wait(atMost: timeout, isQuiet: global.verbosity.isQuiet)
        return .first(of: report.applying.union([end]))
    }
}
