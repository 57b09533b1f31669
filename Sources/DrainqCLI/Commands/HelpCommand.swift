/// `drainq help [COMMAND]`, also for `--help` after a command: explains drainq or the command.
struct HelpCommand: Command {
    static let name = "help"

    /// The name of a command, or nothing.
    var words: [String] = []

    mutating func take(operands: [String]) { words = operands }

    static let description = CommandDescription(
        Self.self, "explain a command",
        "Prints the list of commands, or the usage of one command.",
        operands: .optional(
            of: CommandDescription.commands.filter { !$0.isHidden }.map { $0.name }, placeholder: "COMMAND"),
        onlyPrints: true,
        examples: [Example("drainq help run", "the same as drainq run --help")])

    func perform(environment: [String: String]) -> ExitStatus {
        let topic = words.first.flatMap(CommandDescription.named)
        standardOutput.write(topic.map(helpText) ?? helpOverview())
        return .ok
    }
}
