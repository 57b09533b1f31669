/// What `drainq import` is told.
struct ImportArguments: CommandArguments {
    /// Files to read, `-` being standard input; none means it too.
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
            .replace, \.replaces, "take the place of what has the same id",
            """
            An operation takes the place of the one in the queue that has its id, in one step: after a crash one of the two \
            is there. One that is in flight stays as it is and is said, with status 75. The input is read to its end before \
            anything is replaced, so that it may come from `drainq export` of the same queue.
            """)
        Option.sync(\.sync)
        Option.json(\.isJSON)
        QueueOptions.options.map { $0.within(\.queue) }
        Verbosity.options.map { $0.within(\.verbosity) }
    }
}

extension CommandDescription {
    static let `import` = CommandDescription(
        .import, Command.importOperations, "take in what drainq export has printed",
        """
        Reads operations as `drainq export` prints them from the files, or from standard input, and puts each into the \
        queue as it was: with its id, its time of creation, its attempts, its state and when it is due. Prints the ids, one \
        on each line, once the operations are safe on disk. An id that is in the queue already is left as it is, and said; \
        where that is so of all of them nothing is imported, and the status is 1. With --replace an operation takes the \
        place of the one that has its id.

        A line that is no such operation is reported with its number and kept in `quarantine/`; the others are taken in, \
        and the exit status is 65. With --atomic nothing is taken in unless everything can be.
        """,
        operands: .files,
        examples: [
            Example("drainq import -q /var/spool/new backup.ndjson", "what was exported before, into a new queue"),
            Example(
                "drainq export --state failed | jq -c '.payload.version = 2' | drainq import --replace | drainq retry -",
                "edit what has failed, and send it again"),
            Example(
                "drainq export -q /var/spool/old | drainq import -q /var/spool/new", "from one queue to another"),
        ])
}
