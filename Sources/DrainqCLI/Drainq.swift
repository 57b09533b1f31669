/// The program: understands `arguments` (without the program's name), does the work and says how it ended.
package func run(arguments: [String], environment: [String: String]) -> ExitStatus {
    ignoreBrokenPipes()
    let status: ExitStatus
    do {
        let command = try ParsedCommand(arguments: arguments)
        standardOutput.setWhenClosed(command.command.outputWhenClosed)
        status = try perform(command, environment: environment)
    } catch {
        Messages.error(error)
        status = .usage
    }
    guard let failure = standardOutput.finish() else { return status }
    Messages.error("cannot write standard output: \(failure)")
    return .first(of: [status, .inputOutput])
}

private func perform(_ command: ParsedCommand, environment: [String: String]) throws(UsageError) -> ExitStatus {
    switch command.command {
    case .completions: return completions(command)
    case .manual: return manual()
    case .version: return version()
    case .help: return help(command)
    case .initialize, .add, .run, .list, .show, .status, .retry, .drop, .check, .demo, .receive, .agent:
        // Until merge: each gets its function in Commands/ and its line above.
        Messages.error("cannot run 'drainq \(command.command.rawValue)': not built yet")
        return .internalError
    }
}

extension CommandName {
    /// Commands that only show end when nobody reads them; those that do work finish it.
    var outputWhenClosed: Output.WhenClosed {
        switch self {
        case .list, .show, .status, .check, .completions, .manual, .version, .help: .endProcess
        case .initialize, .add, .run, .retry, .drop, .demo, .receive, .agent: .discard
        }
    }
}
