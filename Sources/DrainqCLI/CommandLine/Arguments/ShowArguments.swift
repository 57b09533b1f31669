/// The arguments of `drainq show`.
struct ShowArguments: CommandArguments {
    var ids: [String] = []
    var request = RequestOptions()
    var isJSON = false
    var queue = QueueOptions()
    var verbosity = Verbosity()

    mutating func take(operands: [String]) { ids = operands }

    static var options: [Option<Self>] {
        RequestOptions.options.map { $0.within(\.request) }
        Option.json(\.isJSON)
        QueueOptions.options.map { $0.within(\.queue) }
        Verbosity.options.map { $0.within(\.verbosity) }
    }
}

extension CommandDescription {
    static let show = CommandDescription(
        .show, Command.show, "show operations with all their attempts",
        """
        Prints what each operation waits for and why, its fields, each attempt with the server's answer and the rule \
        that decided, and the beginning of its body; with --json the whole body. It prints a file in quarantine with \
        its reason.

        With --request it prints the request that would send each operation alone, whatever the operation waits for. \
        `drainq run --dry-run --request` shows batches and merged documents.
        """,
        operands: .ids, exclusive: [[.curl, .json]],
        examples: [
            Example("drainq show 6f9619ff-8b86-4011-b42d-00cf4fc964ff", "show one operation with its attempts"),
            Example(
                "drainq show --request 6f9619ff-8b86-4011-b42d-00cf4fc964ff", "show the request that would send it"),
            Example(
                "drainq list --state failed --json | jq -r .id | drainq show -", "show all failed operations"),
        ])
}
