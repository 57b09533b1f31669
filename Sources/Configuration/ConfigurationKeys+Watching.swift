import Policy

extension ConfigurationKeys {
    static let metrics: [ConfigurationKey<Configuration>] = [
        ConfigurationKey(
            "metrics.textfile", optional: .path,
            example: #""/var/lib/prometheus/node-exporter/drainq.prom""#, "Prometheus metrics of each run",
            """
            A file that each run replaces with its metrics, for the textfile collector of Prometheus' node exporter: what \
            drainq status --prometheus prints. It is replaced in one step, with mode 0644, and its directory has to be \
            writable. A file that cannot be written is a warning, and changes nothing of the run's exit status. \
            None is written unless set. Every series has the queue as a label, but two queues need two files.
            """,
            into: \.metricsTextfile)
    ]

    static let hooks: [ConfigurationKey<Configuration>] = [
        hook(
            .held, "when a destination is held",
            """
            A program, with its arguments, that a run calls when destinations are held from then on. See HOOKS.
            """),
        hook(
            .released, "when a hold has ended",
            """
            The same, when a run finds that holds have ended: a probe was delivered, or what a hold was blamed on has \
            changed. What a person ends with drainq release is not told.
            """),
        hook(.failed, "when operations are given up", "The same, when operations have failed for good."),
        hook(
            .quarantined, "when a file is no operation",
            "The same, when files have gone into quarantine because they are not operations."),
        hook(.delivered, "when operations are delivered", "The same, when operations have been delivered."),
        hook(
            .started, "before a run sends",
            "The same, before the first attempt of a run that has something to send: the run waits for it."),
        hook(.ended, "when a run has ended", "The same, at the end of a run that had something to do."),
        ConfigurationKey(
            "hooks.atMostEvery", .duration, default: #""1h""#, "between two calls of a hook",
            """
            How long a hook is not called again for the same destination. What happens meanwhile is told with the first \
            run after that time, unless it has been undone by then. 0s is after every run that has something to tell.
            """,
            into: \.hooks.atMostEvery),
    ]

    private static func hook(
        _ event: Hooks.Event, _ summary: String, _ prose: String
    ) -> ConfigurationKey<Configuration> {
        ConfigurationKey(
            "hooks.\(event.rawValue)", ConfigurationValue<[String]>.command.orNull,
            example: #"["/usr/local/bin/notify"]"#, summary, prose, set: { $0.hooks.commands[event] = $1 })
    }
}
