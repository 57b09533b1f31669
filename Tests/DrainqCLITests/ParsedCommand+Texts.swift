@testable import DrainqCLI
@testable import Policy

extension ParsedCommand {
    /// Parses arguments that are texts.
    init(arguments: some Sequence<String>) throws(UsageError) {
        try self.init(arguments: arguments.map { RawText($0) })
    }
}
