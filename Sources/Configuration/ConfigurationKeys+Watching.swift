import Policy

extension ConfigurationKeys {
    static let metrics: [ConfigurationKey<Configuration>] = [
        ConfigurationKey(
            "metrics.textfile", optional: .path,
            example: #""/var/lib/prometheus/node-exporter/drainq.prom""#, "Prometheus metrics of each run",
            """
            A file that each run replaces with its metrics, for the textfile collector of Prometheus' node exporter: \
            the output of drainq status --prometheus. A run replaces it in one step, with mode 0644, and its directory \
            must be writable. If a run cannot write it, the run warns, and its exit status stays the same. Every \
            series has the queue as a label, but two queues need two files.
            """,
            into: \.metricsTextfile),
        ConfigurationKey(
            "metrics.page", optional: .path, example: #""/var/www/html/drainq.html""#, "a page of each run",
            """
            A file that runs replace with the page of drainq status --html, in one step and with mode 0644: each run \
            with work at its end, and runs without work once a minute. If a run cannot write it, the run warns, and its \
            exit status stays the same.
            """,
            into: \.page),
    ]

    static let hooks: [ConfigurationKey<Configuration>] = [
        hook(.held, "when a destination is held", "Called when runs or drainq send hold destinations."),
        hook(
            .released, "when a hold has ended",
            """
            Called when holds that were reported have ended: a probe was delivered, the cause of a hold has changed, or \
            an operator has released the destination.
            """),
        hook(
            .down, "when a destination is down",
            """
            Called when nothing has been delivered to a destination for hooks.downAfter, whatever it answers. A hold \
            is told as held.
            """),
        hook(
            .up, "when a destination is back",
            """
            Called when a destination that was reported as down has taken an operation, or when no route and no \
            operation names it any more.
            """),
        hook(
            .backlog, "when operations wait for long",
            """
            Called when the oldest operation for a destination is older than hooks.backlogAfter, and neither the \
            destination nor the queue is paused. With this hook, or hooks.cleared, each run lists the queue once more.
            """),
        hook(
            .cleared, "when a backlog has ended",
            "Called when no operation for a destination with a reported backlog is as old any more."),
        hook(.failed, "when operations fail for good", "Called when operations have failed for good."),
        hook(
            .quarantined, "when a file goes into quarantine",
            "Called when files have gone into quarantine because they are not operations."),
        hook(.delivered, "when operations are delivered", "Called when operations have been delivered."),
        hook(
            .started, "before a run sends",
            "Called by a run with something to send before its first attempt; the run waits for it."),
        hook(.ended, "when a run has ended", "Called at the end of a run that had something to do."),
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
            "The time since the first attempt that was no delivery after which hooks.down is called.",
            into: \.hooks.downAfter),
        ConfigurationKey(
            "hooks.backlogAfter", .duration, default: #""6h""#, "before there is a backlog",
            "The age of the oldest operation for a destination from which on hooks.backlog is called.",
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
