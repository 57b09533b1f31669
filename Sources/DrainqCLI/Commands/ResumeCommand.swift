struct ResumeCommand: Command {
    static let name = "resume"

    var pause = PauseOptions()

    static var options: [Option<Self>] { PauseOptions.options.map { $0.within(\.pause) } }

    static let description = CommandDescription(
        Self.self, "end a pause",
        "Ends the pause of the queue, or with --destination that of a destination.",
        examples: [Example("drainq resume", "continue after maintenance")])

    func perform(environment: [String: String]) throws -> ExitStatus {
        try pause.setPaused(false, environment)
    }
}
