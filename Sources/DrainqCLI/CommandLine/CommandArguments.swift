import Policy

/// The arguments of a command. A new value has the defaults; `options` name the properties that the command line sets.
protocol CommandArguments: Sendable {
    init()
    /// The options in the order of the documents, each with the property that it sets.
    @OptionList<Self> static var options: [Option<Self>] { get }
    /// Takes the operands in their order. The parser gives none to a command without operands.
    mutating func take(operands: [String])
}

extension CommandArguments {
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
