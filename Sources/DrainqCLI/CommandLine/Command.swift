import Policy

/// A command: its name, its arguments with their options, its description, and its work. A new value has the defaults
/// of the arguments. `CommandTable.swift` lists the commands.
protocol Command: Sendable {
    /// The word after `drainq`.
    static var name: String { get }
    /// Whether documents and suggestions leave the command out: only programs call it.
    static var isHidden: Bool { get }
    static var description: CommandDescription { get }
    /// The options in the order of the documents, each with the property that it sets.
    @OptionList<Self> static var options: [Option<Self>] { get }
    init()
    /// Takes the operands in their order. The parser gives none to a command without operands.
    mutating func take(operands: [String])
    /// Does the work, and returns the exit status. `failing` makes a `CommandFailure` of what it throws.
    func perform(environment: [String: String]) throws -> ExitStatus
}

extension Command {
    static var isHidden: Bool { false }
    static var options: [Option<Self>] { [] }
    mutating func take(operands: [String]) {}

    /// Sets the properties that `options` name from the `given` options. Throws at the first value that it cannot read.
    init(_ given: [GivenOption], by options: [Option<Self>], operands: [String]) throws(UsageError) {
        self.init()
        for one in given {
            guard let option = options.first(where: { $0.description.name == one.name }) else { continue }
            do throws(ValueDefect) {
                try option.take(&self, one.text ?? "")
            } catch {
                throw UsageError(
                    "cannot read '\(one.spelling) \(one.text?.path ?? "")': \(error.reason)", hint: error.hint)
            }
        }
        take(operands: operands)
    }
}

/// One use of an option.
struct GivenOption {
    var name: OptionName
    /// The option as written: `-q`, `--queue`.
    var spelling: String
    /// The value as given; `nil` for a flag.
    var text: RawText?
}
