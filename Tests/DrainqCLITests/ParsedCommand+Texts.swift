import Policy

@testable import DrainqCLI

extension ParsedCommand {
    /// Parses arguments that are texts.
    init(arguments: some Sequence<String>) throws(UsageError) {
        try self.init(arguments: arguments.map { RawText($0) })
    }
}
