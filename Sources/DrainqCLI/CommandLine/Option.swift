import Policy

/// An option of a command, and the property of `Arguments` that it sets.
struct Option<Arguments>: Sendable {
    /// The description for documents and the parser.
    let description: OptionDescription
    /// Sets the property from the text of one use; a flag has no text. Throws the reason if it cannot read the text.
    let take: @Sendable (inout Arguments, RawText) throws(ValueDefect) -> Void
}

extension Option {
    /// Makes a flag.
    init(
        _ name: OptionName, short: Unicode.Scalar? = nil, _ place: any WritableKeyPath<Arguments, Bool> & Sendable,
        group: OptionGroup = .own, _ summary: String, _ details: String
    ) {
        description = OptionDescription(name, short: short, .flag, group: group, summary, details)
        take = { arguments, _ in arguments[keyPath: place] = true }
    }

    /// Makes an option whose last use counts; `nil` without any. Documents show `initial` as the default.
    init<Value>(
        _ name: OptionName, short: Unicode.Scalar? = nil, _ syntax: ValueSyntax<Value>,
        _ place: any WritableKeyPath<Arguments, Value?> & Sendable, initial: String? = nil,
        group: OptionGroup = .own, _ summary: String, _ details: String
    ) {
        description = OptionDescription(
            name, short: short, syntax.kind, group: group, initial: initial, summary, details)
        take = { arguments, text throws(ValueDefect) in arguments[keyPath: place] = try syntax.read(text) }
    }

    /// Makes an option each use of which adds a value.
    init<Value>(
        _ name: OptionName, short: Unicode.Scalar? = nil, _ syntax: ValueSyntax<Value>,
        each place: any WritableKeyPath<Arguments, [Value]> & Sendable, group: OptionGroup = .own,
        _ summary: String, _ details: String
    ) {
        description = OptionDescription(name, short: short, syntax.kind, repeats: true, group: group, summary, details)
        take = { arguments, text throws(ValueDefect) in arguments[keyPath: place].append(try syntax.read(text)) }
    }

    /// Returns the same option for a command whose arguments contain these as the property `part`.
    func within<Whole>(_ part: any WritableKeyPath<Whole, Arguments> & Sendable) -> Option<Whole> {
        Option<Whole>(description: description) { [take] whole, text throws(ValueDefect) in
            try take(&whole[keyPath: part], text)
        }
    }
}

extension Option where Arguments: Command {
    /// Makes an option with a default, the property's value in new arguments. The last use counts.
    init<Value>(
        _ name: OptionName, short: Unicode.Scalar? = nil, _ syntax: ValueSyntax<Value>,
        initial place: any WritableKeyPath<Arguments, Value> & Sendable, group: OptionGroup = .own,
        _ summary: String, _ details: String
    ) {
        description = OptionDescription(
            name, short: short, syntax.kind, group: group,
            initial: syntax.text(Arguments()[keyPath: place]), summary, details)
        take = { arguments, text throws(ValueDefect) in arguments[keyPath: place] = try syntax.read(text) }
    }
}

/// The builder of lists of options.
@resultBuilder enum OptionList<Arguments> {
    static func buildExpression(_ option: Option<Arguments>) -> [Option<Arguments>] { [option] }
    static func buildExpression(_ options: [Option<Arguments>]) -> [Option<Arguments>] { options }
    static func buildBlock(_ parts: [Option<Arguments>]...) -> [Option<Arguments>] { Array(parts.joined()) }
}
