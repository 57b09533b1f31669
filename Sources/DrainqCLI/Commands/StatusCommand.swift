import Policy
import Spool

struct StatusCommand: Command {
    static let name = "status"

    /// The time between two statuses without `--interval`.
    static let usualInterval = Duration.seconds(2)

    var isForPrometheus = false
    var isPage = false
    var isWatching = false
    var isForMonitor = false
    var interval: Duration?
    var global = GlobalOptions()

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
            a row for each destination with the last 24 hours from the log, each trouble opened below its row, and what \
            happened. The key `metrics.page` of the configuration makes each run write it to a file.
            """)
        Option(
            .check, \.isForMonitor, "print one line for a monitor, and end with its status",
            """
            Prints one line with the verdict and figures, and ends as the plugins of Nagios and other monitors do: with 0 \
            if all is well or the queue is paused, 1 (warning) if operations failed for good, are in quarantine, are not \
            sent or wait for a first run, 2 (critical) if a destination is in trouble, the queue is full, nobody runs it, runs \
            end with an error or the configuration is broken, and 3 if that is not known.
            """)
        Option(
            .watch, \.isWatching, "repeat the status until interrupted",
            """
            Shows the status again after each --interval, until SIGINT. At a terminal it replaces the one before. Above it \
            are the time, the queue and, while a run is at work, the operations in flight, those left, the rate since \
            the run was first seen, and the time to go. If the rows do not fit the terminal, the destinations in \
            trouble stay.
            """)
        Option(
            .interval, .interval, \.interval, initial: usualInterval.quantity,
            "time between two statuses, with --watch",
            "The time between two statuses; only with --watch.")
        GlobalOptions.options.map { $0.within(\.global) }
    }

    static let description = CommandDescription(
        Self.self, "show the status of the queue",
        """
        The first line is the verdict, and the second one says who has to act, or names the evidence. A destination is \
        in trouble if it is held, if it does not answer, or if nothing was delivered to it for 15 minutes, whatever the cause \
        (an hour, if its server asked for time); it is well if its last attempt was a delivery. What no route and no \
        operation names is in nobody's trouble. All is well if no destination is in trouble, if runs come (if \
        operations are due, the last one within five usual intervals and at least 15 minutes, and the last one with \
        work has not ended with an error before it sent anything), if the queue has room for more (`limits`), if no operation is due \
        that runs which came did not send, nor waits for a kept value that nothing in the queue can leave, and if no operation \
        failed for good and no file is in quarantine that no `retry`, `drop` or `export` has named since. A run that \
        cannot begin or is killed does not count.

        A run puts a due operation back, and goes on with others, if a secret of its user is missing, if its server \
        refuses its credentials again, or if its file cannot be read. An operation that no run has taken for a day, \
        although its destination was served and no limit left operations over, is not sent either: perhaps every run is for other types or \
        destinations.

        Then it prints each trouble with its cause, one line for destinations with the same cause: since when, what the \
        server said, how many operations wait, and the command that ends it; --verbose adds the rule that decided. Then it \
        prints what is paused, how many operations have failed or are in quarantine, and what ends by itself. See \
        DESTINATIONS. If the configuration is broken, it says so first, and shows the rest.

        Last it prints how many operations are in each state and are due, a table of the operations that wait or \
        are in flight by destination and age, and the last run. A column such as `5m` counts the operations \
        that are younger than five minutes and older than the age of the column before; `3d+` counts all older ones. At a terminal that is too \
        narrow columns are joined or left out; then an ellipsis ends the heading.
        """,
        exclusive: [[.json, .prometheus, .html, .check], [.watch, .prometheus], [.watch, .html], [.watch, .check]],
        onlyPrints: true,
        examples: [
            Example("drainq status", "show the status for people"),
            Example("drainq status --watch --interval 5s", "show the status every five seconds"),
            Example("drainq status --json", "show the status as JSON"),
            Example("drainq status --html > queue.html", "make a page of the status"),
            Example("drainq status --prometheus", "show the status as metrics"),
        ])

    func perform(environment: [String: String]) throws -> ExitStatus {
        if isForMonitor { return check(environment) }
        if !Terminal.isOnStandardOutput {
            // What a file or a mail says is read elsewhere.
            nameInCommandsElsewhere(queue: try queuePath(option: global.path, environment: environment))
        }
        let queue = try OpenQueue.showing(global, environment)
        if isForPrometheus {
            standardOutput.write(try Exposition(of: queue, at: .now()).text)
            return .ok
        }
        if isPage {
            standardOutput.write(try QueuePage(of: queue, at: .now()).html)
            return .ok
        }
        if isWatching {
            try watch(queue, every: interval ?? Self.usualInterval, asJSON: global.isJSON)
        } else if interval != nil {
            throw CommandFailure(.usage, "'--interval' needs '--watch'", hint: "drainq status --watch --interval 5s")
        } else {
            let now = Timestamp.now()
            let status = try QueueStatus(of: queue, at: now)
            if global.isJSON {
                JSONLine.write(status)
            } else {
                StatusReport(
                    status: status, now: now, terminal: .forResults(environment),
                    showsRules: global.verbosity.isVerbose
                ).lines.forEach(standardOutput.line)
            }
        }
        return .ok
    }

    /// Prints the line of `--check`, and returns its status. Whatever keeps the status from being known is in the line,
    /// because a monitor reads nothing else.
    private func check(_ environment: [String: String]) -> ExitStatus {
        var (level, text, figures) = (HealthWords.Level.unknown, "", "")
        do throws(CommandFailure) {
            try failing {
                let now = Timestamp.now()
                let status = try QueueStatus(of: OpenQueue.showing(global, environment), at: now)
                (level, text) = (status.words.level, status.words.text)
                figures = " | " + CheckFigures.text(of: status, at: now)
            }
        } catch {
            text = error.messages.map(\.text).joined(separator: "; ")
        }
        // Plugins separate the figures by a bar.
        let line = escapedForDisplay(text).replacing("|", with: "/")
        standardOutput.line("DRAINQ \(level.rawValue.uppercased()) - \(line)\(figures)")
        return switch level {
        case .ok: .ok
        case .warning: .failed
        case .critical: .critical
        case .unknown: .unknown
        }
    }
}
