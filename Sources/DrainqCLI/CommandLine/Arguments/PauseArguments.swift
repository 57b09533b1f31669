/// The arguments of `drainq pause` and `drainq resume`.
struct PauseArguments: CommandArguments {
    /// The destinations to pause or resume; empty means the whole queue.
    var destinations: [String] = []
    var queue = QueueOptions()
    var verbosity = Verbosity()

    static var options: [Option<Self>] {
        Option(
            .destination, .destination, each: \.destinations, "only this destination",
            "Only this destination, by its name as `drainq status` shows it.")
        QueueOptions.options.map { $0.within(\.queue) }
        Verbosity.options.map { $0.within(\.verbosity) }
    }
}

extension CommandDescription {
    static let pause = CommandDescription(
        .pause, Command.pause, "stop all attempts",
        """
        Runs make no attempts until `drainq resume`; the queue still accepts operations. With --destination runs make \
        no attempts to that destination only.
        """,
        examples: [
            Example("drainq pause", "stop all attempts before maintenance"),
            Example("drainq pause --destination https://api.example.com", "stop attempts to one destination"),
        ])
}

extension CommandDescription {
    static let resume = CommandDescription(
        .resume, Command.resume, "end a pause",
        "Ends the pause of the queue, or with --destination that of a destination.",
        examples: [Example("drainq resume", "continue after maintenance")])
}
