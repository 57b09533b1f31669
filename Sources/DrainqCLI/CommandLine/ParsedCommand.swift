package import Policy

/// A command line that the parser has accepted.
package struct ParsedCommand: Sendable {
    /// The command, with its arguments.
    let command: any Command
    /// The queue and the configuration that the arguments name.
    var place = NamedPlace()
}

extension ParsedCommand {
    /// Parses the arguments after the program's name. `--help` and `--version` become the commands of the same name.
    package init(arguments: some Sequence<RawText>) throws(UsageError) {
        var parser = Parser(arguments: Array(arguments))
        self = try parser.parse()
    }
}
