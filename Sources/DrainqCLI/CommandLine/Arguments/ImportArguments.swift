/// The arguments of `drainq import`.
struct ImportArguments: CommandArguments {
    /// The files to read; `-` or an empty list is standard input.
    var files: [String] = []
    var isAtomic = false
    var replaces = false
    var sync = Sync.full
    var isJSON = false
    var queue = QueueOptions()
    var verbosity = Verbosity()

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
            flight: it reports the operation and ends with 75. It does not replace one in quarantine. It reads the \
            input to its end before it replaces anything, so that the input may come from `drainq export` of the same \
            queue.
            """)
        Option.sync(\.sync)
        Option.json(\.isJSON)
        QueueOptions.options.map { $0.within(\.queue) }
        Verbosity.options.map { $0.within(\.verbosity) }
    }
}

extension CommandDescription {
    static let `import` = CommandDescription(
        .import, Command.importOperations, "import operations that drainq export has printed",
        """
        Reads operations as `drainq export` prints them from the files, or from standard input, and puts each into the \
        queue as it was: with its id, its time of creation, its attempts, its state and when it is due. Prints the \
        ids, one on each line, once the operations are safe on disk. The command leaves an id that is in the queue \
        already as it is, and reports it; if all of them are, it imports no operation, and the status is 1. With --replace \
        an operation replaces the one that has its id.

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
}
