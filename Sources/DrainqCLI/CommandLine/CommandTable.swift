extension CommandDescription {
    /// The descriptions of all commands, in the order of `CommandName`.
    package static let table: [CommandDescription] = CommandName.allCases.map(of)

    /// Returns the description of a command. The compiler requires one for every `CommandName`.
    package static func of(_ name: CommandName) -> CommandDescription {
        switch name {
        case .initialize: .initialize
        case .add: .add
        case .send: .send
        case .wait: .wait
        case .run: .run
        case .list: .list
        case .show: .show
        case .status: .status
        case .log: .log
        case .retry: .retry
        case .drop: .drop
        case .hold: .hold
        case .release: .release
        case .pause: .pause
        case .resume: .resume
        case .export: .export
        case .import: .import
        case .check: .check
        case .explain: .explain
        case .demo: .demo
        case .receive: .receive
        case .completions: .completions
        case .manual: .manual
        case .schema: .schema
        case .version: .version
        case .help: .help
        case .agent: .agent
        case .complete: .complete
        }
    }
}
