/// The arguments of `drainq export`.
struct ExportArguments: CommandArguments {
    var ids: [String] = []
    var filter = FilterOptions()
    /// Whether `--all` is given: delivered operations are exported too.
    var isForAll = false
    /// The new file that gets the operations; `nil` for standard output.
    var file: String?
    /// Whether the exported operations leave the queue.
    var isMoving = false
    var queue = QueueOptions()
    var verbosity = Verbosity()

    mutating func take(operands: [String]) { ids = operands }

    static var options: [Option<Self>] {
        Option(
            .all, \.isForAll, "choose every operation",
            "Chooses every operation that waits or has failed, and the kept copies of delivered ones.")
        Option(
            .to, .file("FILE"), \.file, "write to this new file",
            """
            Writes the operations to this file instead of standard output, readable by you alone, and syncs the file \
            and its directory. The file must not exist.
            """)
        Option(
            .thenDrop, \.isMoving, "then remove them from the queue",
            """
            Removes the exported operations from the queue once the file of --to is safe on disk; if it cannot be \
            written, the queue keeps every operation. Operations that are in flight are not exported then. An \
            operation that a run claims meanwhile is in the file, stays in the queue, and is reported; the status is \
            then 1.
            """)
        FilterOptions.options.map { $0.within(\.filter) }
        QueueOptions.options.map { $0.within(\.queue) }
        Verbosity.options.map { $0.within(\.verbosity) }
    }
}

extension CommandDescription {
    static let export = CommandDescription(
        .export, Command.export, "print complete operations",
        """
        Prints one line of JSON for each operation, with everything that its file and its file name say: its header, \
        its body byte for byte, its attempts, its state and when it is due. `drainq import` makes the same operation \
        of the line. Without ids, filters or --all the command prints every operation that waits or has failed. It \
        removes operations only with --then-drop.

        The body is in `payload` if it is JSON on one line, else in `bodyBase64`; a body in a file of its own stays \
        there. You may edit the lines, also the body. Some versions of `jq` rewrite numbers of more than 17 digits, \
        and numbers such as 1.10, anywhere in a line.

        A file in quarantine is not an operation; the command does not export it. While a run works on the queue, the \
        output can lack an operation or have it twice, and the run may still deliver an exported operation that is in \
        flight: use `drainq pause` first.
        """,
        operands: .optionalSelection,
        examples: [
            Example("drainq export > backup.ndjson", "export the waiting and failed operations"),
            Example(
                "drainq export --state failed | jq -c '.payload.version = 2' | drainq import -q /var/spool/other",
                "edit failed operations, and import them into another queue"),
            Example("drainq export --type crm --to moved.ndjson --then-drop", "move the operations of a type out"),
        ])
}
