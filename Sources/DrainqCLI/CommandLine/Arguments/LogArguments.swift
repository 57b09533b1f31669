import Policy

/// The arguments of `drainq log`.
struct LogArguments: CommandArguments {
    var since: PointInTime?
    var until: PointInTime?
    var destinations: [String] = []
    var types: [TypeName] = []
    var ids: [OperationID] = []
    var isFollowing = false
    var isJSON = false
    var queue = QueueOptions()
    var verbosity = Verbosity()

    static var options: [Option<Self>] {
        Option(
            .since, .time(.past), \.since, group: .filter, "from this time on",
            "Only what happened at this time or later; `2h` is two hours ago.")
        Option(
            .until, .time(.past), \.until, group: .filter, "before this time",
            "Only what happened before this time.")
        Option(
            .destination, .destination, each: \.destinations, group: .filter, "at this destination",
            "Only what happened at this destination, by its name as `drainq status` shows it; given more than once, at any of these."
        )
        Option(
            .type, short: "t", .typeName, each: \.types, group: .filter, "of this type",
            "Only lines about operations of this type; given more than once, of any of these.")
        Option(
            .id, .operationID, each: \.ids, group: .filter, "about this operation",
            "Only lines that name this operation; a line names at most ten.")
        Option(
            .follow, short: "f", \.isFollowing, "wait for more until interrupted",
            "Goes on with the lines that are added from now on, until SIGINT or until the reader has gone.")
        Option.json(\.isJSON)
        QueueOptions.options.map { $0.within(\.queue) }
        Verbosity.options.map { $0.within(\.verbosity) }
    }
}

extension CommandDescription {
    static let log = CommandDescription(
        .log, Command.log, "show what happened",
        """
        Tells what happened in the queue, oldest first, a line for each change: destinations that went down, came up, \
        were held, released, paused or resumed, each with the cause; operations that failed for good, went into \
        quarantine or made room, by cause, with their number; what dead runs had claimed; and what operators' commands \
        changed. Between two changes a line says how many operations were delivered, how many were deferred, and how \
        long that took. With --verbose it also shows each run that had work, and changes of the configuration.

        Runs and commands write the log; it keeps at most `log.maxBytes` (10 MB) and the lines of `log.maxAge` (30 \
        days). It is not synced: a power cut may lose the last lines. Attempts are counted by minute and destination, \
        and not listed: `drainq show` lists those of an operation.
        """,
        examples: [
            Example("drainq log --since 2h", "what happened in the last two hours"),
            Example("drainq log --destination https://api.example.com", "the story of a destination"),
            Example("drainq log --follow --json", "every new line, for another program"),
        ])
}
