import Policy

/// What `drainq status` is told.
struct StatusArguments: CommandArguments {
    /// Between two statuses, where nothing is said.
    static let usualInterval = Duration.seconds(2)

    var isForPrometheus = false
    var isWatching = false
    var interval: Duration?
    var isJSON = false
    var queue = QueueOptions()
    var verbosity = Verbosity()

    static var options: [Option<Self>] {
        Option(
            .prometheus, \.isForPrometheus, "print metrics for Prometheus",
            """
            Print the queue as metrics in the text format of Prometheus: operations by state and destination, the time of \
            the oldest, what is due, which destinations are closed and why, the last run, and what runs have counted. The \
            key `metrics.textfile` of the configuration makes each run write the same to a file.
            """)
        Option(
            .watch, \.isWatching, "show it again and again, until interrupted",
            "Show the status again after each --interval, at a terminal in the place of the one before, until SIGINT ends it."
        )
        Option(
            .interval, .interval, \.interval, initial: usualInterval.quantity, "how long between two, with --watch",
            "How long to wait between two statuses; only with --watch.")
        Option.json(\.isJSON)
        QueueOptions.options.map { $0.within(\.queue) }
        Verbosity.options.map { $0.within(\.verbosity) }
    }
}

extension CommandDescription {
    static let status = CommandDescription(
        .status, Command.status, "show how the queue is",
        """
        Prints first what needs a person: a pause, destinations that are `held` or `paused`, each with the reason and the \
        command that ends it, and how many operations have failed or are in quarantine. Then come destinations that \
        open again by themselves, `retry-after` (the server asked for time) or `circuit breaker open` (after failures), with when they are \
        tried next. See DESTINATIONS.

        Below stands how many operations are in which state and are due, a table of what waits for each destination by \
        age, and the last run. A column counts what is younger than its heading, such as `5m`, and not in the column \
        before; `3d+` is the rest.
        """,
        exclusive: [[.json, .prometheus], [.watch, .prometheus]],
        examples: [
            Example("drainq status", "how the queue is, for a person"),
            Example("drainq status --watch --interval 5s", "how the queue is, on and on"),
            Example("drainq status --json", "how the queue is, for a program"),
            Example("drainq status --prometheus", "how the queue is, for Prometheus"),
        ])
}
