import Policy

/// `drainq status`: prints what waits, where, since when and why, and how the last run ended.
struct StatusCommand: Command {
    static let name = "status"

    /// The time between two statuses without `--interval`.
    static let usualInterval = Duration.seconds(2)

    var isForPrometheus = false
    var isPage = false
    var isWatching = false
    var interval: Duration?
    var isJSON = false
    var queue = QueueOptions()
    var verbosity = Verbosity()

    static var options: [Option<Self>] {
        Option(
            .prometheus, \.isForPrometheus, "print metrics for Prometheus",
            """
            Prints metrics in the text format of Prometheus: operations by state and destination, the time of the \
            oldest, the number due, the blocked destinations and why, the last run, and the counters of runs. The key \
            `metrics.textfile` of the configuration makes each run write the same to a file.
            """)
        Option(
            .html, \.isPage, "print the status as a page of HTML",
            """
            Prints one self-contained page for a browser, without scripts and without files from elsewhere: the verdict, \
            a card for each destination in trouble and for the ten busiest others, with the last 24 hours from the log, \
            and what happened. The key `metrics.page` of the configuration makes each run write it to a file.
            """)
        Option(
            .watch, \.isWatching, "repeat the status until interrupted",
            """
            Shows the status again after each --interval, until SIGINT. At a terminal it replaces the one before. Above it \
            are the time, the queue and, while a run is at work, the operations in flight, those left, the rate since \
            the run was first seen, and the time to go. If the rows do not fit the terminal, the destinations in \
            trouble stay.
            """
        )
        Option(
            .interval, .interval, \.interval, initial: usualInterval.quantity,
            "time between two statuses, with --watch",
            "The time between two statuses; only with --watch.")
        Option.json(\.isJSON)
        QueueOptions.options.map { $0.within(\.queue) }
        Verbosity.options.map { $0.within(\.verbosity) }
    }

    static let description = CommandDescription(
        Self.self, "show the status of the queue",
        """
        The first line is the verdict: how many destinations are in trouble, the worst first, each with the time since \
        when and the cause. A destination is down until it answers.

        Then it prints the states that need a person: a pause, destinations that are `held` or `paused`, each with the \
        reason and the command that ends it, and how many operations have failed or are in quarantine. Then it prints \
        destinations that are blocked for a time, `retry-after` (the server asked for time) or `circuit breaker open` \
        (after failures), with the time of the next attempt. See DESTINATIONS.

        Last it prints how many operations are in each state and are due, a table of the operations that wait or \
        are in flight by destination and age, and the last run. A column such as `5m` counts the operations \
        that are younger than five minutes and older than the age of the column before; `3d+` counts all older ones. At a terminal that is too \
        narrow columns are joined or left out; then an ellipsis ends the heading.
        """,
        exclusive: [[.json, .prometheus, .html], [.watch, .prometheus], [.watch, .html]],
        onlyPrints: true,
        examples: [
            Example("drainq status", "show the status for people"),
            Example("drainq status --watch --interval 5s", "show the status every five seconds"),
            Example("drainq status --json", "show the status as JSON"),
            Example("drainq status --html > queue.html", "make a page of the status"),
            Example("drainq status --prometheus", "show the status as metrics"),
        ])

    func perform(environment: [String: String]) throws(CommandFailure) -> ExitStatus {
        try failing {
            let queue = try OpenQueue(self.queue, environment)
            if isForPrometheus {
                standardOutput.write(try Exposition(of: queue, at: .now()).text)
                return .ok
            }
            if isPage {
                standardOutput.write(try QueuePage(of: queue, at: .now()).html)
                return .ok
            }
            if isWatching {
                try watch(queue, every: interval ?? Self.usualInterval, asJSON: isJSON)
            } else if interval != nil {
                throw CommandFailure(
                    .usage, "'--interval' needs '--watch'", hint: "drainq status --watch --interval 5s")
            } else {
                let now = Timestamp.now()
                let status = try QueueStatus(of: queue, at: now)
                if isJSON {
                    JSONLine.write(status)
                } else {
                    StatusReport(status: status, now: now, terminal: .forResults(environment)).lines
                        .forEach(standardOutput.line)
                }
            }
            return .ok
        }
    }
}
