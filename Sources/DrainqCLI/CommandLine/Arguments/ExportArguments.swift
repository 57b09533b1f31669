/// What `drainq export` is told.
struct ExportArguments: CommandArguments {
    var ids: [String] = []
    var filter = FilterOptions()
    /// What was delivered too.
    var isForAll = false
    var queue = QueueOptions()
    var verbosity = Verbosity()

    mutating func take(operands: [String]) { ids = operands }

    static var options: [Option<Self>] {
        Option(
            .all, \.isForAll, "choose every operation",
            "Every operation that waits or has failed, and besides the kept copies of what was delivered.")
        FilterOptions.options.map { $0.within(\.filter) }
        QueueOptions.options.map { $0.within(\.queue) }
        Verbosity.options.map { $0.within(\.verbosity) }
    }
}

extension CommandDescription {
    static let export = CommandDescription(
        .export, Command.export, "print operations with all that belongs to them",
        """
        Prints one line of JSON for each operation, with everything that its file and its name say, so that \
        `drainq import` makes the same operation of it: its header, its body byte for byte, its attempts, its state and \
        when it is due. Without ids, filters or --all it is everything that waits or has failed. Nothing is removed.

        The body is `payload` where it is JSON on one line, else `bodyBase64`; a body in a file of its own stays there. \
        The lines may be edited: the body is what stands there then. Numbers of more than 17 digits, and such as 1.10, \
        are written anew by some versions of `jq` wherever they stand.

        What is in quarantine is no operation and is not exported. Of a queue at which a run is at work, an operation can \
        be missing, or be there twice, and what is being attempted may be delivered all the same: `drainq pause` first.
        """,
        operands: .optionalSelection,
        examples: [
            Example("drainq export > backup.ndjson", "all that waits or has failed"),
            Example(
                "drainq export --state failed | jq -c '.payload.version = 2' | drainq import -q /var/spool/other",
                "take what has failed, edited, into another queue"),
            Example(
                "drainq export --type crm | tee moved.ndjson | drainq drop -", "move the operations of a type out"),
        ])
}
