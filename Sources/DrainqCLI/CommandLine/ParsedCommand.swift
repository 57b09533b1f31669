package import Policy

/// A command line that was understood: every value has been checked, so that asking for one cannot fail.
package struct ParsedCommand: Hashable, Sendable {
    package let command: CommandName
    /// `-` stays `-`.
    package let operands: [String]
    private let given: GivenOptions

    init(command: CommandName, operands: [String], given: GivenOptions) {
        self.command = command
        self.operands = operands
        self.given = given
    }

    /// Reads what follows the program's name. `--help` and `--version` become the commands of the same name.
    package init(arguments: some Sequence<String>) throws(UsageError) {
        var parser = Parser(arguments: Array(arguments))
        self = try parser.parse()
    }

    /// Whether the option is on the command line, as opposed to having its initial value.
    package func isGiven(_ option: OptionName) -> Bool {
        given[option] != nil
    }

    package func flag(_ option: OptionName) -> Bool {
        isGiven(option)
    }

    /// All values in their order, else the initial one of the table, else none.
    package func texts(_ option: OptionName) -> [String] {
        given[option] ?? OptionDescription.row(option, of: command)?.initial.map { [$0] } ?? []
    }

    /// The last value, else the initial one of the table, else `nil`; so too for the accessors below.
    package func text(_ option: OptionName) -> String? {
        texts(option).last
    }

    package func count(_ option: OptionName) -> Int? {
        text(option).flatMap { Int($0) }
    }

    package func duration(_ option: OptionName) -> Duration? {
        text(option).flatMap { Duration(quantity: $0) }
    }

    package func rate(_ option: OptionName) -> Rate? {
        text(option).flatMap { Rate(quantity: $0) }
    }

    package func time(_ option: OptionName, now: Timestamp) -> Timestamp? {
        guard let text = text(option), case .time(let direction) = OptionDescription.row(option, of: command)?.kind
        else {
            return nil
        }
        return PointInTime(quantity: text, direction: direction)?.timestamp(now: now)
    }

    package func typeNames(_ option: OptionName) -> [TypeName] {
        texts(option).compactMap { TypeName($0) }
    }

    /// What an option that takes a template was given last.
    func template(_ option: OptionName) -> Template? {
        texts(option).last.flatMap { try? Template($0, for: option == .type ? .type : .key) }
    }

    package func operationID(_ option: OptionName) -> OperationID? {
        text(option).flatMap { OperationID($0) }
    }

    func answers(_ option: OptionName) -> [AnswerPattern] {
        texts(option).compactMap { AnswerPattern(filter: $0) }
    }

    package func headers(_ option: OptionName) -> [HeaderField] {
        texts(option).compactMap { HeaderField(argument: $0) }
    }
}

/// The options of a command line, each with the texts of its values in their order; a flag has none.
struct GivenOptions: Hashable, Sendable {
    private(set) var names: [OptionName] = []
    private var values: [[String]] = []

    subscript(name: OptionName) -> [String]? {
        names.firstIndex(of: name).map { values[$0] }
    }

    /// What was given for the option before is forgotten.
    mutating func take(_ name: OptionName, _ texts: [String]) {
        if let index = names.firstIndex(of: name) {
            values[index] = texts
        } else {
            names.append(name)
            values.append(texts)
        }
    }
}
