/// The arguments of `drainq init`.
struct InitArguments: CommandArguments {
    var url: String?
    /// The name of a service, or `list`.
    var example: String?
    var queue = QueueOptions()
    var verbosity = Verbosity()

    mutating func take(operands: [String]) { queue.path = operands.first ?? queue.path }

    static var options: [Option<Self>] {
        Option(
            .url, .text("URL"), \.url, "the URL of the default route",
            """
            The URL of the default route in the new configuration. Without it the configuration has a line to fill \
            in.
            """
        )
        Option(
            .example, ValueSyntax.example, \.example, "begin with the configuration of a service",
            """
            Writes the configuration of a service, such as `slack` or `elasticsearch`, instead of one that explains \
            every line. `list` prints the names and purposes of the services, and makes no queue. GALLERY in \
            drainq-config(5) compares them.
            """)
        QueueOptions.options.map { $0.within(\.queue) }
        Verbosity.options.map { $0.within(\.verbosity) }
    }
}

extension CommandDescription {
    static let initialize = CommandDescription(
        .initialize, Command.initialize, "make a queue directory and a commented configuration",
        """
        Makes the queue directory, readable and writable by its owner alone, with a configuration `drainq.json` that \
        explains every line, or with that of a service. It does not change files that are already there. DIR, or \
        --queue, names the directory; without both the environment does.
        """,
        operands: .directory,
        exclusive: [[.url, .example]],
        examples: [
            Example(
                "drainq init --url https://api.example.com/v1/events", "a queue whose operations go to this URL"),
            Example("drainq init --example list", "list the services with a configuration"),
            Example("drainq init --example slack", "a queue for messages to Slack"),
            Example("drainq init /var/spool/drainq", "a queue in another directory"),
        ])
}
