/// One option of one or more commands: everything the parser, the help, the manual and the completions know of it.
package struct OptionDescription: Sendable {
    package var name: OptionName
    /// The letter of the short form, `nil` where there is none.
    package var short: Character?
    package var kind: ValueKind
    /// Whether each use adds a value; otherwise the last one wins, so that an alias can be overridden.
    package var repeats: Bool
    package var commands: [CommandName]
    package var group: OptionGroup
    /// What holds when the option is not given, as it would be written; `nil` where prose has to say it.
    package var initial: String?
    /// A few words: lower case, no period.
    package var summary: String
    /// Sentences for the manual. `--name` is an option, `` `text` `` is literal.
    package var details: String

    init(
        _ name: OptionName, short: Character? = nil, _ kind: ValueKind = .flag, repeats: Bool = false,
        of commands: [CommandName], group: OptionGroup = .own, initial: String? = nil, _ summary: String,
        _ details: String
    ) {
        self.name = name
        self.short = short
        self.kind = kind
        self.repeats = repeats
        self.commands = commands
        self.group = group
        self.initial = initial
        self.summary = summary
        self.details = details
    }

    /// As help shows it: `-q, --queue DIR`.
    var usage: String {
        (short.map { "-\($0), " } ?? "") + name.spelling + (kind.placeholder.map { " " + $0 } ?? "")
    }

    /// The command with which the manual explains it: the first, in the order of the commands.
    var home: CommandName? {
        CommandDescription.visible.map(\.name).first(where: commands.contains)
    }

    /// The options of `command` in the order of the table.
    package static func of(_ command: CommandName) -> [OptionDescription] {
        table.filter { $0.commands.contains(command) }
    }

    /// The row for `name` in `command`, or before any command where it is `nil`: there only the global ones have a place.
    static func row(_ name: OptionName, of command: CommandName?) -> OptionDescription? {
        table.first { $0.name == name && $0.applies(to: command) }
    }

    static func row(short: Character, of command: CommandName?) -> OptionDescription? {
        table.first { $0.short == short && $0.applies(to: command) }
    }

    private func applies(to command: CommandName?) -> Bool {
        command.map(commands.contains) ?? (group == .global)
    }
}

/// Where an option stands in help and manual.
package enum OptionGroup: CaseIterable, Sendable {
    case own
    case filter
    case global

    package var title: String {
        switch self {
        case .own: "options"
        case .filter: "filters"
        case .global: "global options"
        }
    }
}
