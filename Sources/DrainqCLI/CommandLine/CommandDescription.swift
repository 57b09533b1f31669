/// One command: everything the parser, the help, the manual and the completions know of it.
package struct CommandDescription: Sendable {
    package var name: CommandName
    /// A few words: lower case, no period.
    package var summary: String
    /// Paragraphs for the help and the manual. `--name` is an option, `` `text` `` is literal.
    package var details: String
    package var operands: Operands
    package let options: [OptionDescription]
    /// Makes the command of what was given. Throws at the first value that is not understood.
    let read: @Sendable (_ given: [GivenOption], _ operands: [String]) throws(UsageError) -> Command
    /// Sets of options of which at most one may be given.
    package var exclusive: [[OptionName]]
    package var examples: [Example]
    /// In no document, and never suggested.
    package var isHidden: Bool

    /// A line for the shell and what it does.
    package struct Example: Sendable {
        package var line: String
        package var explanation: String

        init(_ line: String, _ explanation: String) {
            self.line = line
            self.explanation = explanation
        }
    }

    /// `make` makes the command of its arguments, which say what its options are.
    init<Arguments: CommandArguments>(
        _ name: CommandName, _ make: @escaping @Sendable (Arguments) -> Command, _ summary: String, _ details: String,
        operands: Operands = .none, exclusive: [[OptionName]] = [], examples: [Example] = [], isHidden: Bool = false
    ) {
        self.name = name
        self.summary = summary
        self.details = details
        self.operands = operands
        self.exclusive = exclusive
        self.examples = examples
        self.isHidden = isHidden
        let own = Arguments.options
        options = own.map(\.description) + (isHidden ? [] : [.help, .version])
        read = { given, operands throws(UsageError) in make(try Arguments(given, by: own, operands: operands)) }
    }

    /// The commands that documents show, in the order of the table.
    package static var visible: [CommandDescription] { table.filter { !$0.isHidden } }

    /// As help shows it: `drainq add [OPTIONS] [FILE...]`.
    var usage: String {
        ["drainq", name.rawValue, takesOptions ? "[OPTIONS]" : nil, operands.usage].compactMap { $0 }.joined(
            separator: " ")
    }

    /// Whether there are options besides those that explain the command instead of doing it.
    var takesOptions: Bool {
        options.contains { $0.name != .help && $0.name != .version }
    }
}

/// The operands of a command.
package enum Operands: Hashable, Sendable {
    case none
    /// Any number of files, `-` being standard input, which is also what none means.
    case files
    /// One id or more, `-` being a list of them on standard input.
    case ids
    /// The same, or none, which means what the options say.
    case optionalIDs
    /// The same, or instead of them filters or `--all`: exactly one way of choosing.
    case selection
    /// The same, or none of it, which means what the command has to say.
    case optionalSelection
    case one(of: [String], placeholder: String)
    case optional(of: [String], placeholder: String)
    /// A status or the name of an error, or nothing.
    case answer
    case anything

    var usage: String? {
        switch self {
        case .none, .anything: nil
        case .files: "[FILE...]"
        case .ids: "ID..."
        case .optionalIDs, .selection, .optionalSelection: "[ID...]"
        case .one(_, let placeholder): placeholder
        case .optional(_, let placeholder): "[\(placeholder)]"
        case .answer: "[STATUS|ERROR]"
        }
    }
}
