/// An option of a command, and where its value goes.
struct Option<Arguments>: Sendable {
    /// The description for documents and the parser.
    let description: OptionDescription
    /// Puts one use of the option into its place. A flag has no text. Throws why the text is not understood.
    let take: @Sendable (inout Arguments, String) throws(ValueDefect) -> Void
}

extension Option {
    /// A flag.
    init(
        _ name: OptionName, short: Character? = nil, _ place: any WritableKeyPath<Arguments, Bool> & Sendable,
        group: OptionGroup = .own, _ summary: String, _ details: String
    ) {
        description = OptionDescription(name, short: short, .flag, group: group, summary, details)
        take = { arguments, _ in arguments[keyPath: place] = true }
    }

    /// An option of which the last use counts; `nil` without any. `initial` is what holds then, for documents.
    init<Value>(
        _ name: OptionName, short: Character? = nil, _ syntax: ValueSyntax<Value>,
        _ place: any WritableKeyPath<Arguments, Value?> & Sendable, initial: String? = nil,
        group: OptionGroup = .own, _ summary: String, _ details: String
    ) {
        description = OptionDescription(
            name, short: short, syntax.kind, group: group, initial: initial, summary, details)
        take = { arguments, text throws(ValueDefect) in arguments[keyPath: place] = try syntax.read(text) }
    }

    /// An option of which each use adds a value.
    init<Value>(
        _ name: OptionName, short: Character? = nil, _ syntax: ValueSyntax<Value>,
        each place: any WritableKeyPath<Arguments, [Value]> & Sendable, group: OptionGroup = .own,
        _ summary: String, _ details: String
    ) {
        description = OptionDescription(
            name, short: short, syntax.kind, repeats: true, group: group, summary, details)
        take = { arguments, text throws(ValueDefect) in arguments[keyPath: place].append(try syntax.read(text)) }
    }

    /// The same option of a command whose arguments have these as a part.
    func within<Whole>(_ part: any WritableKeyPath<Whole, Arguments> & Sendable) -> Option<Whole> {
        Option<Whole>(description: description) { [take] whole, text throws(ValueDefect) in
            try take(&whole[keyPath: part], text)
        }
    }
}

extension Option where Arguments: CommandArguments {
    /// An option that has a value without being given: the last use counts, else what the arguments begin with.
    init<Value>(
        _ name: OptionName, short: Character? = nil, _ syntax: ValueSyntax<Value>,
        initial place: any WritableKeyPath<Arguments, Value> & Sendable, group: OptionGroup = .own,
        _ summary: String, _ details: String
    ) {
        description = OptionDescription(
            name, short: short, syntax.kind, group: group,
            initial: syntax.text(Arguments()[keyPath: place]), summary, details)
        take = { arguments, text throws(ValueDefect) in arguments[keyPath: place] = try syntax.read(text) }
    }
}

/// Options one below the other.
@resultBuilder enum OptionList<Arguments> {
    static func buildExpression(_ option: Option<Arguments>) -> [Option<Arguments>] { [option] }
    static func buildExpression(_ options: [Option<Arguments>]) -> [Option<Arguments>] { options }
    static func buildBlock(_ parts: [Option<Arguments>]...) -> [Option<Arguments>] { Array(parts.joined()) }
}
