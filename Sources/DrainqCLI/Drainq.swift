import Delivery

/// The program: understands `arguments` (without the program's name), does the work and says how it ended.
package func run(
    arguments: [String], environment: [String: String] = OwnEnvironment.read()
) -> ExitStatus {
    occupyStandardDescriptors()
    ignoreSignalsOfWrites()
    waitForChildren()
    let status: ExitStatus
    do throws(CommandFailure) {
        if arguments.isEmpty {
            status = try withoutCommand(environment: environment)
        } else {
            let command = try parsed(arguments)
            standardOutput.setWhenClosed(command.command.outputWhenClosed)
            proposeCommands(for: command.text(.queue))
            status = try perform(command, environment: environment)
        }
    } catch {
        for message in error.messages { Messages.error(message.text, hint: message.hint) }
        status = error.status
    }
    guard let failure = standardOutput.finish() else { return status }
    Messages.error("cannot write standard output: \(failure)")
    return .first(of: [status, .inputOutput])
}

private func parsed(_ arguments: [String]) throws(CommandFailure) -> ParsedCommand {
    do throws(UsageError) {
        return try ParsedCommand(arguments: arguments)
    } catch {
        throw CommandFailure(error)
    }
}

private func perform(_ command: ParsedCommand, environment: [String: String]) throws(CommandFailure) -> ExitStatus {
    switch command.command {
    case .initialize: try initialize(command, environment: environment)
    case .add: try add(command, environment: environment)
    case .send: try send(command, environment: environment)
    case .run: try runQueue(command, environment: environment)
    case .list: try list(command, environment: environment)
    case .show: try show(command, environment: environment)
    case .status: try DrainqCLI.status(command, environment: environment)
    case .retry: try retry(command, environment: environment)
    case .drop: try drop(command, environment: environment)
    case .hold: try hold(command, environment: environment)
    case .release: try release(command, environment: environment)
    case .pause: try pause(command, environment: environment)
    case .resume: try resume(command, environment: environment)
    case .export: try export(command, environment: environment)
    case .import: try importOperations(command, environment: environment)
    case .check: try check(command, environment: environment)
    case .explain: try explain(command, environment: environment)
    case .demo: try demo(command, environment: environment)
    case .receive: try receive(command)
    case .completions: completions(command)
    case .manual: manual(command)
    case .schema: schema()
    case .version: version()
    case .help: help(command)
    case .agent: beLibcurlsAgent()
    }
}

private func beLibcurlsAgent() -> Never {
    DeliveryAgent.main { concurrency, report throws(NoCarrier) in
        try CurlTransport(concurrency: concurrency, report: report)
    }
}

extension CommandName {
    /// Commands that only show end when nobody reads them; those that do work finish it.
    var outputWhenClosed: Output.WhenClosed {
        switch self {
        case .list, .show, .status, .export, .check, .explain, .completions, .manual, .schema, .version, .help:
            .endProcess
        case .initialize, .add, .send, .run, .retry, .drop, .hold, .release, .pause, .resume, .import, .demo, .receive,
            .agent:
            .discard
        }
    }
}
