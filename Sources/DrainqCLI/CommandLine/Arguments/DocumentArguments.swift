/// The arguments of `drainq completions`.
struct CompletionsArguments: CommandArguments {
    /// The name of a shell.
    var words: [String] = []

    mutating func take(operands: [String]) { words = operands }
    static var options: [Option<Self>] { [] }

    var shell: Shell? { words.first.flatMap(Shell.init(rawValue:)) }
}

/// The arguments of `drainq manual`.
struct ManualArguments: CommandArguments {
    /// The name of a page, or nothing.
    var words: [String] = []

    mutating func take(operands: [String]) { words = operands }
    static var options: [Option<Self>] { [] }

    var page: ManualPage { words.first.flatMap(ManualPage.init(rawValue:)) ?? .drainq }
}

/// The arguments of `drainq help`.
struct HelpArguments: CommandArguments {
    /// The name of a command, or nothing.
    var words: [String] = []

    mutating func take(operands: [String]) { words = operands }
    static var options: [Option<Self>] { [] }

    init() {}

    init(topic: CommandName?) {
        words = topic.map { [$0.rawValue] } ?? []
    }

    var topic: CommandName? { words.first.flatMap(CommandName.init(rawValue:)) }
}

extension CommandDescription {
    static let completions = CommandDescription(
        .completions, Command.completions, "print completions for a shell",
        "Prints the completions of drainq for bash, zsh or fish.",
        operands: .one(of: Shell.allCases.map(\.rawValue), placeholder: "SHELL"),
        examples: [
            Example(
                "drainq completions bash | install -D /dev/stdin ~/.local/share/bash-completion/completions/drainq",
                "for one user of bash"),
            Example(
                "drainq completions fish | install -D /dev/stdin ~/.config/fish/completions/drainq.fish",
                "for one user of fish"),
            Example(
                "drainq completions zsh | install -D /dev/stdin /usr/local/share/zsh/site-functions/_drainq",
                "for every user of zsh"),
        ])
}

extension CommandDescription {
    static let manual = CommandDescription(
        .manual, Command.manual, "print this manual, or another one",
        """
        Prints a manual page in the mdoc language of `mandoc` and `groff`: `drainq`, which is the default, \
        `drainq-config`, `drainq-json`, `drainq-queue`, `drainq-setup` or `drainq-sizing`. The program has all of them.
        """,
        operands: .optional(of: ManualPage.allCases.map(\.rawValue), placeholder: "PAGE"),
        examples: [
            Example("drainq manual | man -l -", "read the manual without installing it"),
            Example("drainq manual drainq-config | man -l -", "read the manual of the configuration"),
        ])
}

extension CommandDescription {
    static let schema = CommandDescription(
        .schema, Command.schema, "print a JSON Schema of the configuration",
        """
        Prints a JSON Schema (draft 7) of `drainq.json`. An editor completes and checks the file with it. Name it in \
        the file: `$schema: "./drainq.schema.json"`. `drainq check` finds more than a schema can.
        """,
        examples: [
            Example("drainq schema > drainq.schema.json", "write the schema beside the configuration")
        ])
}

extension CommandDescription {
    static let version = CommandDescription(
        .version, Command.version, "print the version",
        "Prints the name and the version.")
}

extension CommandDescription {
    static let help = CommandDescription(
        .help, Command.help, "explain a command",
        "Prints the list of commands, or the usage of one command.",
        operands: .optional(
            of: CommandName.allCases.filter { $0 != .agent && $0 != .complete }.map(\.rawValue), placeholder: "COMMAND"),
        examples: [Example("drainq help run", "the same as drainq run --help")])
}

/// The arguments of `drainq complete`.
struct CompleteArguments: CommandArguments {
    /// The words after the program, up to the cursor.
    var words: [String] = []

    mutating func take(operands: [String]) { words = operands }
    static var options: [Option<Self>] { [] }
}

extension CommandDescription {
    static let complete = CommandDescription(
        .complete, Command.complete, "print candidates for a shell",
        "Prints the candidates for the last word of a command line. Only the scripts of completions call it.",
        operands: .anything,
        isHidden: true)
}

extension CommandDescription {
    static let agent = CommandDescription(
        .agent, Command.agent, "make attempts for a run",
        "Makes requests. Only a run starts it.",
        operands: .anything,
        isHidden: true)
}
