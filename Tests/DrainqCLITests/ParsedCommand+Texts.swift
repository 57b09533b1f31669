@testable import DrainqCLI
@testable import Policy

extension ParsedCommand {
    /// Parses arguments given as texts.
    init(arguments: some Sequence<String>) throws(UsageError) {
        try self.init(arguments: arguments.map { RawText($0) })
    }
}
