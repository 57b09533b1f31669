/// The arguments of a command. A new value has the defaults.
protocol CommandArguments: Sendable {
    init()
    /// The options in the order of the documents, each with its place.
    @OptionList<Self> static var options: [Option<Self>] { get }
    /// Takes what is not an option, in its order. A command that takes nothing else is given none.
    mutating func take(operands: [String])
}

extension CommandArguments {
    mutating func take(operands: [String]) {}

    /// Reads what was given by the `options`. Throws at the first value that is not understood.
    init(_ given: [GivenOption], by options: [Option<Self>], operands: [String]) throws(UsageError) {
        self.init()
        for one in given {
            guard let option = options.first(where: { $0.description.name == one.name }) else { continue }
            do throws(ValueDefect) {
                try option.take(&self, one.text ?? "")
            } catch {
                throw UsageError("cannot read '\(one.spelling) \(one.text ?? "")': \(error.reason)", hint: error.hint)
            }
        }
        take(operands: operands)
    }
}

/// One use of an option.
struct GivenOption {
    var name: OptionName
    /// As it was written: `-q`, `--queue`.
    var spelling: String
    /// `nil` for a flag.
    var text: String?
}
