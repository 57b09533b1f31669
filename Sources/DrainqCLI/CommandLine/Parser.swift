import Drain
import Policy

/// The parser of a command line. Reads the arguments once, from left to right, by the descriptions of commands.
struct Parser {
    private var rest: ArraySlice<RawText>
    private var command: CommandDescription?
    private var operands: [String] = []
    private var given: [GivenOption] = []
    /// The option `--help` or `--version` if it is given. Once set, the parser ignores the remaining arguments.
    private var interruption: OptionName?

    init(arguments: [RawText]) { rest = arguments[...] }

    mutating func parse() throws(UsageError) -> ParsedCommand {
        while interruption == nil, let argument = rest.popFirst() {
            if argument == "--" {
                while let operand = rest.popFirst() { try take(operand: operand) }
            } else if argument.begins(with: "-"), argument != "-" {
                try take(options: argument)
            } else {
                try take(operand: argument)
            }
        }
        if let interruption, let named = CommandDescription.named(interruption.rawValue) {
            return ParsedCommand(command: try named.read([], command.map { [$0.name] } ?? []))
        }
        guard let command else {
            throw UsageError("no command is given", hint: "'drainq help' lists the commands")
        }
        for one in given where OptionDescription.row(one.name, of: command) == nil {
            throw foreign(option: one.name.spelling, name: one.name, in: command)
        }
        let made = try command.read(given, operands)
        try checkCombination(for: command)
        let directory = command.operands == .directory ? operands.first : nil
        func path(_ name: OptionName) -> String? { given.last { $0.name == name }?.text?.path }
        return ParsedCommand(
            command: made, place: NamedPlace(queue: directory ?? path(.queue), configuration: path(.config)))
    }

    private func isGiven(_ name: OptionName) -> Bool { given.contains { $0.name == name } }

    // MARK: - Options

    private mutating func take(options word: RawText) throws(UsageError) {
        let read = OptionWord(word, of: command)
        for flag in read.flags where interruption == nil { record(flag: flag) }
        if interruption != nil { return }
        if let option = read.unknown { throw unknown(option: option) }
        guard let row = read.row else { return }
        if row.kind == .flag {
            throw UsageError("option '\(read.spelling)' takes no value", hint: "write \(read.spelling) alone")
        }
        try record(read.value, of: row, spelling: read.spelling)
    }

    private mutating func record(flag row: OptionDescription) {
        switch row.name {
        case .help, .version: interruption = row.name
        default: given.append(GivenOption(name: row.name, spelling: row.name.spelling))
        }
    }

    private mutating func record(_ attached: RawText?, of row: OptionDescription, spelling: String) throws(UsageError) {
        let usage = "\(row.name.spelling) \(row.kind.placeholder ?? "")"
        if attached == nil, let next = rest.first, next.begins(with: "--"),
            let name = OptionName(rawValue: RawText(next.bytes.dropFirst(2)).path),
            OptionDescription.row(name, of: command) != nil
        {
            throw UsageError(
                "option '\(spelling)' needs a value, and '\(next.path)' is an option",
                hint: "if '\(next.path)' is the value: \(row.name.spelling)=\(next.path)")
        }
        guard let value = attached ?? rest.popFirst() else {
            throw UsageError("option '\(spelling)' needs a value", hint: usage)
        }
        given.append(GivenOption(name: row.name, spelling: spelling, text: value))
    }

    private func unknown(option: String) -> UsageError {
        if let name = OptionName(rawValue: String(option.dropFirst(2))) {
            return foreign(option: option, name: name, in: command)
        }
        let candidates =
            command?.options ?? OptionDescription.table.filter { $0.group == .global }
        if option.begins(with: "--"), let near = nearest(to: option, in: candidates.map(\.name.spelling)) {
            return UsageError("unknown option '\(option)'", hint: "did you mean \(near)?")
        }
        let help = command.map { "drainq \($0.name) --help" } ?? "drainq help"
        return UsageError("unknown option '\(option)'", hint: "'\(help)' lists the options")
    }

    /// Returns the error for an option that exists, but not for this command, or not before a command.
    private func foreign(option: String, name: OptionName, in command: CommandDescription?) -> UsageError {
        let owners = CommandDescription.visible.filter { OptionDescription.row(name, of: $0) != nil }.map(\.name)
        guard let command else {
            return UsageError(
                "option '\(option)' comes before the command",
                hint: "write it after the command: drainq \(owners[0]) \(option)")
        }
        let twin = [OptionName.maxTime: OptionName.timeout, .timeout: .maxTime][name]
        if let twin, OptionDescription.row(twin, of: command) != nil {
            return UsageError("unknown option '\(option)'", hint: "did you mean \(twin.spelling)?")
        }
        return UsageError(
            "unknown option '\(option)' for 'drainq \(command.name)'",
            hint: "it is an option of " + owners.map { "drainq \($0)" }.joined(separator: ", "))
    }

    // MARK: - Commands and operands

    private mutating func take(operand given: RawText) throws(UsageError) {
        let operand = given.path
        guard let command else {
            guard let named = CommandDescription.named(operand) else { throw unknown(command: operand) }
            self.command = named
            return
        }
        switch command.operands {
        case .none:
            let isQueue = OptionDescription.row(.queue, of: command) != nil && operand.contains("/")
            throw UsageError(
                "unexpected operand '\(operand)'",
                hint: isQueue
                    ? "a queue is named by --queue: \(pasted(command.name, "--queue", operand))"
                    : "'drainq \(command.name) --help' lists its options")
        case .files:
            if operand.isEmpty { throw emptyOperand }
            return operands.append(operand)
        case .directory:
            if operand.isEmpty { throw emptyOperand }
            if !operands.isEmpty { throw UsageError("unexpected operand '\(operand)'", hint: "only one DIR") }
            return operands.append(operand)
        case .ids, .optionalIDs, .selection, .optionalSelection:
            if operand.isEmpty { throw emptyOperand }
        case .anything: break
        case .answer:
            if !operands.isEmpty {
                throw UsageError("unexpected operand '\(operand)'", hint: "only one STATUS or ERROR")
            }
            try checkAnswer(operand)
        case .one(let words, let placeholder), .optional(let words, let placeholder):
            if !operands.isEmpty {
                throw UsageError("unexpected operand '\(operand)'", hint: "only one \(placeholder)")
            }
            if !words.contains(operand) {
                throw UsageError(
                    "unknown \(placeholder.lowercased()) '\(operand)'",
                    hint: nearest(to: operand, in: words).map { "did you mean \($0)?" }
                        ?? "one of " + words.joined(separator: ", "))
            }
        }
        guard let text = given.text else { throw UsageError("operand '\(operand)' is not UTF-8") }
        operands.append(text)
    }

    private var emptyOperand: UsageError {
        UsageError("an operand is empty", hint: "is a shell variable empty?")
    }

    /// Throws unless the operand is a single status or the name of an error: `503`, `timeout`, `UNAVAILABLE`.
    private func checkAnswer(_ operand: String) throws(UsageError) {
        switch AnswerPattern(operand) {
        case .statuses(let range) where range.count > 1:
            throw UsageError("'\(operand)' is more than one status", hint: "explain one of them: \(range.lowerBound)")
        case .some: return
        case nil:
            let names = AnswerPattern.errorNames
            if operand.utf8.count > 30, OperationID(operand) != nil {
                throw UsageError(
                    "'\(operand)' is neither a status nor an error",
                    hint: "an id is for drainq show; 'drainq help show' explains it")
            }
            throw UsageError(
                "'\(operand)' is neither a status nor an error",
                hint: nearest(to: operand, in: names).map { "did you mean \($0)?" }
                    ?? "a status is 100 to 599, an error one of " + names.joined(separator: ", "))
        }
    }

    private func unknown(command word: String) -> UsageError {
        let near = nearest(to: word, in: CommandDescription.visible.map(\.name))
        return UsageError(
            "unknown command '\(word)'",
            hint: near.map { "did you mean drainq \($0)?" } ?? "'drainq help' lists the commands")
    }

    // MARK: - The whole

    private func checkCombination(for description: CommandDescription) throws(UsageError) {
        for alternatives in description.exclusive + [[.verbose, .quiet]] {
            let chosen = alternatives.filter(isGiven)
            if chosen.count > 1 {
                throw UsageError("options '\(chosen[0].spelling)' and '\(chosen[1].spelling)' exclude each other")
            }
        }
        switch description.operands {
        case .ids, .one:
            if operands.isEmpty {
                throw UsageError("drainq \(description.name) needs an operand", hint: "usage: \(description.usage)")
            }
        case .optionalIDs:
            if let first = operands.first,
                let name = [OptionName.type, .destination].first(where: isGiven)
            {
                throw UsageError(
                    "'\(first)' and '\(name.spelling)' exclude each other",
                    hint: "choose by ids, or by type and destination")
            }
        case .selection: try checkSelection(of: description)
        case .optionalSelection: try checkSelection(of: description, isOptional: true)
        case .directory:
            if let first = operands.first, isGiven(.queue) {
                throw UsageError("'\(first)' and '--queue' exclude each other", hint: "name the queue once")
            }
        case .none, .files, .optional, .answer, .anything: break
        }
    }

    private func checkSelection(of description: CommandDescription, isOptional: Bool = false) throws(UsageError) {
        let filter = description.options.first { $0.group == .filter && isGiven($0.name) }?.name.spelling
        let ways = [operands.first.map { "'\($0)'" }, filter, isGiven(.all) ? "--all" : nil].compactMap { $0 }
        if ways.isEmpty, !isOptional {
            let changesFailed = description.states.isEmpty || description.states.contains(.failed)
            throw UsageError(
                "drainq \(description.name) needs a choice of operations",
                hint:
                    "give ids, a filter such as \(changesFailed ? "--state failed" : "--destination NAME"), or --all")
        }
        if ways.count > 1 {
            throw UsageError(
                "\(ways[0]) and \(ways[1]) exclude each other", hint: "choose by ids, by filters, or by --all")
        }
    }
}
