/// The arguments of `drainq list`.
struct ListArguments: CommandArguments {
    var limit: Int?
    var isLong = false
    var filter = FilterOptions()
    var isJSON = false
    var queue = QueueOptions()
    var verbosity = Verbosity()

    static var options: [Option<Self>] {
        Option(
            .limit, .count(1...Int.max), \.limit, "show at most N operations",
            "The most operations to show, oldest first.")
        Option(
            .long, \.isLong, "show the last result of each operation in a long list",
            "Shows LAST for every operation. Without it a list of more than 1,000 operations "
                + "has only what names tell, and opens no file.")
        FilterOptions.options.map { $0.within(\.filter) }
        Option.json(\.isJSON)
        QueueOptions.options.map { $0.within(\.queue) }
        Verbosity.options.map { $0.within(\.verbosity) }
    }
}

extension CommandDescription {
    static let list = CommandDescription(
        .list, Command.list, "list operations",
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
        examples: [
            Example("drainq list --state failed", "operations that failed for good"),
            Example(
                "drainq list --type crm --since 2h --json", "the last two hours of a type, for another program"),
        ])
}
