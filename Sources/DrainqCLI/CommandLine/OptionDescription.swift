/// One option, as the parser, the help, the manual and the completions know it.
package struct OptionDescription: Hashable, Sendable {
    package var name: OptionName
    /// The letter of the short form, `nil` if there is none.
    package var short: Unicode.Scalar?
    package var kind: ValueKind
    /// Whether each use adds a value; if not, the last one wins, so that a use on the command line overrides an alias.
    package var repeats: Bool
    package var group: OptionGroup
    /// The default value, as it would be written; `nil` if the prose describes it.
    package var initial: String?
    /// A few words: lower case, no period.
    package var summary: String
    /// Sentences for the manual. `--name` is an option, `` `text` `` is literal.
    package var details: String

    init(
        _ name: OptionName, short: Unicode.Scalar? = nil, _ kind: ValueKind, repeats: Bool = false,
        group: OptionGroup = .own, initial: String? = nil, _ summary: String, _ details: String
    ) {
        self.name = name
        self.short = short
        self.kind = kind
        self.repeats = repeats
        self.group = group
        self.initial = initial
        self.summary = summary
        self.details = details
    }

    /// The usage as help shows it: `-q, --queue DIR`.
    var usage: String {
        (short.map { "-\($0), " } ?? "") + name.spelling + (kind.placeholder.map { " " + $0 } ?? "")
    }

    /// The commands that have exactly this option, in the order of the documents.
    package var commands: [String] { CommandDescription.table.filter { $0.options.contains(self) }.map(\.name) }

    /// The visible commands that take the option (`isOnly`), or the visible commands that do not: the shorter list.
    /// `nil` if all commands take the option.
    var reach: (isOnly: Bool, commands: [String])? {
        let takers = Set(commands)
        let all = CommandDescription.visible.map(\.name)
        let taking = all.filter { takers.contains($0) }
        let others = all.filter { !takers.contains($0) }
        return others.isEmpty ? nil : taking.count <= others.count ? (true, taking) : (false, others)
    }

    /// The first command, in the order of the documents, that has this option: the manual explains the option there.
    var home: String? { CommandDescription.visible.first { $0.options.contains(self) }?.name }

    /// All options, each once: own ones in the order of the commands, filters and global ones in the order of names.
    package static let table: [OptionDescription] = {
        var seen: Set<OptionDescription> = []
        let all = CommandDescription.table.flatMap(\.options).filter { seen.insert($0).inserted }
        let names = OptionName.allCases
        return OptionGroup.allCases.flatMap { group in
            let members = all.filter { $0.group == group }
            return group == .own ? members : names.flatMap { name in members.filter { $0.name == name } }
        }
    }()

    /// Returns the option `name` of `command`; if that is `nil`, only a global option.
    package static func row(_ name: OptionName, of command: CommandDescription?) -> OptionDescription? {
        row(of: command) { $0.name == name }
    }

    static func row(short: Unicode.Scalar, of command: CommandDescription?) -> OptionDescription? {
        row(of: command) { $0.short == short }
    }

    private static func row(
        of command: CommandDescription?, where isMeant: (OptionDescription) -> Bool
    ) -> OptionDescription? {
        // `run` has all global options. Making the rows of all commands takes ten times as long.
        guard let command else {
            return CommandDescription.named("run")?.options.first { $0.group == .global && isMeant($0) }
        }
        return command.options.first(where: isMeant)
    }
}

/// The group of an option in help and manual.
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
