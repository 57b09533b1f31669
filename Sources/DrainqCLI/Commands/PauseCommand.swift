struct PauseCommand: Command {
    static let name = "pause"

    var pause = PauseOptions()

    static var options: [Option<Self>] { PauseOptions.options.map { $0.within(\.pause) } }

    static let description = CommandDescription(
        Self.self, "stop all attempts",
        """
        Runs make no attempts until `drainq resume`; the queue still accepts operations. A run that is at work learns of \
        it within a second. With --destination runs make no attempts to that destination only.
        """,
        examples: [
            Example("drainq pause", "stop all attempts before maintenance"),
            Example("drainq pause --destination https://api.example.com", "stop attempts to one destination"),
        ])

    func perform(environment: [String: String]) throws -> ExitStatus {
        try pause.setPaused(true, environment)
    }
}
