/// What `drainq list` is told.
struct ListArguments: CommandArguments {
    var limit: Int?
    var filter = FilterOptions()
    var isJSON = false
    var queue = QueueOptions()
    var verbosity = Verbosity()

    static var options: [Option<Self>] {
        Option(
            .limit, .count(1...Int.max), \.limit, "show at most so many",
            "How many operations are shown, oldest first.")
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
        Prints one line for each operation: its id, type, state and age, how many attempts of how many have been counted, \
        when a run may send it next or what it waits for, and what the last attempt met. Filters narrow the list; an \
        operation has to pass all of them. A file in quarantine that has no id stands there by its name, which other \
        commands take in its place.

        NEXT is `now`, a time, `held`, `paused`, `behind ID` for an older operation of its key or destination that goes \
        first, `replaced by ID` or `with ID` for a newer one that replaces it or that it is merged into, or `held behind ID` \
        for one that failed; behind a time stands its destination's reason: `held` until a probe, \
        `retry-after` where its server asked for time, or `circuit breaker` while that is open.

        At a terminal the columns fit its width, and where it is narrow each operation has two lines; the id is always \
        whole. Elsewhere everything is, in columns at least two blanks apart.
        """,
        examples: [
            Example("drainq list --state failed", "what was given up"),
            Example(
                "drainq list --type crm --since 2h --json", "the last two hours of a type, for another program"),
        ])
}
