import Policy

extension ConfigurationKeys {
    static let metrics: [ConfigurationKey<Configuration>] = [
        ConfigurationKey(
            "metrics.textfile", optional: .path,
            example: #""/var/lib/prometheus/node-exporter/drainq.prom""#, "Prometheus metrics of each run",
            """
            A file that each run replaces with its metrics, for the textfile collector of Prometheus' node exporter: \
            the output of drainq status --prometheus. A run replaces it in one step, with mode 0644, and its directory \
            must be writable. If a run cannot write it, the run warns, and its exit status stays the same. If not \
            set, runs write no file. Every series has the queue as a label, but two queues need two files.
            """,
            into: \.metricsTextfile),
        ConfigurationKey(
            "metrics.page", optional: .path, example: #""/var/www/html/drainq.html""#, "a page of each run",
            """
            A file that each run with work replaces with the page of drainq status --html, in one step and with mode \
            0644. If a run cannot write it, the run warns, and its exit status stays the same.
            """,
            into: \.page),
    ]

    static let hooks: [ConfigurationKey<Configuration>] = [
        hook(
            .held, "when a destination is held",
            """
            A program, with its arguments, that a run calls when it begins to hold destinations. See HOOKS.
            """),
        hook(
            .released, "when a hold has ended",
            """
            A program that a run calls when it finds that holds have ended: a probe was delivered, or the cause of a \
            hold has changed. drainq release does not call a hook.
            """),
        hook(
            .down, "when a destination is down",
            "A program that a run calls when a destination has failed for `hooks.downAfter` without an answer."),
        hook(
            .up, "when a destination is back",
            "A program that a run calls when a destination that was reported as down has answered."),
        hook(
            .backlog, "when operations wait for long",
            """
            A program that a run calls when the oldest operation for a destination is older than `hooks.backlogAfter`. \
            With this hook, or `hooks.cleared`, each run lists the queue once more.
            """),
        hook(
            .cleared, "when a backlog has ended",
            "A program that a run calls when no operation for a destination with a reported backlog is as old any more."
        ),
        hook(
            .failed, "when operations fail for good", "A program that a run calls when operations have failed for good."
        ),
        hook(
            .quarantined, "when a file goes into quarantine",
            "A program that a run calls when files have gone into quarantine because they are not operations."),
        hook(
            .delivered, "when operations are delivered",
            "A program that a run calls when operations have been delivered."),
        hook(
            .started, "before a run sends",
            "A program that a run with something to send calls before its first attempt, and waits for."),
        hook(.ended, "when a run has ended", "A program that a run calls at its end, if it had something to do."),
        ConfigurationKey(
            "hooks.atMostEvery", .duration, default: #""1h""#, "between two calls of a hook",
            """
            The least time between two calls of a hook for the same destination. The first run after that time reports \
            events in between, unless a later event has undone them. With 0s every run that has something to report \
            calls the hook.
            """,
            into: \.hooks.atMostEvery),
        ConfigurationKey(
            "hooks.downAfter", .duration, default: #""30m""#, "before a destination is down",
            "How long a destination fails without an answer before `hooks.down` is called.", into: \.hooks.downAfter),
        ConfigurationKey(
            "hooks.backlogAfter", .duration, default: #""6h""#, "before there is a backlog",
            "The age of the oldest operation for a destination from which on `hooks.backlog` is called.",
            into: \.hooks.backlogAfter),
    ]

    private static func hook(
        _ event: Hooks.Event, _ summary: String, _ prose: String
    ) -> ConfigurationKey<Configuration> {
        ConfigurationKey(
            "hooks.\(event.rawValue)", ConfigurationValue<[String]>.command.orNull,
            example: #"["/usr/local/bin/notify"]"#, summary, prose, set: { $0.hooks.commands[event] = $1 })
    }
}
