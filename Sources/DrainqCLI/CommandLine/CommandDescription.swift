import Drain

/// One command, as the parser, the help, the manual and the completions know it.
package struct CommandDescription: Sendable {
    /// The word after `drainq`.
    package let name: String
    /// A few words: lower case, no period.
    package var summary: String
    /// Paragraphs for the help and the manual. `--name` is an option, `` `text` `` is literal.
    package var details: String
    package var operands: Operands
    package let options: [OptionDescription]
    /// Makes the command from its options and operands. Throws at the first value that it cannot read.
    let read: @Sendable (_ given: [GivenOption], _ operands: [String]) throws(UsageError) -> any Command
    /// Sets of options that exclude each other.
    package var exclusive: [[OptionName]]
    package var examples: [Example]
    /// Whether the command only prints. If standard output is closed, such a command ends; any other finishes its work.
    let onlyPrints: Bool
    /// The states of the operations that the command mostly changes; empty if the state does not matter.
    let states: [ShownState]

    /// Makes the description of `command`, with its name and its options.
    init<Described: Command>(
        _ command: Described.Type, _ summary: String, _ details: String, operands: Operands = .none,
        exclusive: [[OptionName]] = [], onlyPrints: Bool = false, states: [ShownState] = [], examples: [Example] = []
    ) {
        name = command.name
        self.summary = summary
        self.details = details
        self.operands = operands
        self.exclusive = exclusive
        self.onlyPrints = onlyPrints
        self.states = states
        self.examples = examples
        let own = command.options
        options = own.map(\.description) + (command.isHidden ? [] : [.help, .version])
        read = { given, operands throws(UsageError) in try Described(given, by: own, operands: operands) }
    }

    /// The commands that documents show, in the order of the table.
    package static let visible = commands.filter { !$0.isHidden }.map { $0.description }

    /// Returns the description of the command with this name, and makes no other; `nil` if there is no such command.
    static func named(_ name: String) -> CommandDescription? { commands.first { $0.name == name }?.description }

    /// The usage as help shows it: `drainq add [OPTIONS] [FILE...]`.
    var usage: String {
        ["drainq", name, takesOptions ? "[OPTIONS]" : nil, operands.usage].compactMap { $0 }.joined(separator: " ")
    }

    /// Whether the command has options other than `--help` and `--version`.
    var takesOptions: Bool { options.contains { $0.name != .help && $0.name != .version } }
}

/// A command line for the shell, and an explanation.
package struct Example: Sendable {
    package var line: String
    package var explanation: String

    init(_ line: String, _ explanation: String) {
        self.line = line
        self.explanation = explanation
    }
}

/// The operands of a command.
package enum Operands: Hashable, Sendable {
    case none
    /// A queue directory, or nothing.
    case directory
    /// Any number of files; `-` or no operand is standard input.
    case files
    /// One id or more; `-` reads a list of ids from standard input.
    case ids
    /// Ids; without any, options choose the operations.
    case optionalIDs
    /// Ids, filters or `--all`: exactly one of the three.
    case selection
    /// Ids, filters or `--all`, at most one of the three; without any, the command has a default of its own.
    case optionalSelection
    case one(of: [String], placeholder: String)
    case optional(of: [String], placeholder: String)
    /// A status or the name of an error, or nothing.
    case answer
    case anything

    var usage: String? {
        switch self {
        case .none, .anything: nil
        case .directory: "[DIR]"
        case .files: "[FILE...]"
        case .ids: "ID..."
        case .optionalIDs, .selection, .optionalSelection: "[ID...]"
        case .one(_, let placeholder): placeholder
        case .optional(_, let placeholder): "[\(placeholder)]"
        case .answer: "[STATUS|ERROR]"
        }
    }
}
