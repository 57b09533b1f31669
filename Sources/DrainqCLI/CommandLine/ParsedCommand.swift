package import Policy

/// A command line that the parser has accepted.
package struct ParsedCommand: Sendable {
    package let name: CommandName
    /// The command, with its arguments.
    let command: Command
    /// The queue that `--queue` names.
    let queue: String?

    init(_ name: CommandName, _ command: Command, queue: String? = nil) {
        self.name = name
        self.command = command
        self.queue = queue
    }

    /// Parses the arguments after the program's name. `--help` and `--version` become the commands of the same name.
    package init(arguments: some Sequence<RawText>) throws(UsageError) {
        var parser = Parser(arguments: Array(arguments))
        self = try parser.parse()
    }
}
