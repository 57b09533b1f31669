import Delivery
package import Policy

/// Runs the program: parses `arguments` (without the program's name), performs the command and returns the exit status.
package func run(
    arguments: [RawText], environment: [String: String] = OwnEnvironment.read()
) -> ExitStatus {
    occupyStandardDescriptors()
    ignoreSignalsOfWrites()
    waitForChildren()
    keepOwnerPermissions()
    let status: ExitStatus
    do throws(CommandFailure) {
        if arguments.isEmpty {
            status = try withoutCommand(environment: environment)
        } else {
            let command = try parsed(arguments)
            standardOutput.setWhenClosed(command.name.outputWhenClosed)
            nameQueueInCommands(command.queue)
            status = try perform(command.command, environment: environment)
        }
    } catch {
        for message in error.messages { Messages.error(message.text, hint: message.hint) }
        status = error.status
    }
    guard let failure = standardOutput.finish() else { return status }
    Messages.error("cannot write standard output: \(failure)")
    return .first(of: [status, .inputOutput])
}

private func parsed(_ arguments: [RawText]) throws(CommandFailure) -> ParsedCommand {
    do throws(UsageError) {
        return try ParsedCommand(arguments: arguments)
    } catch {
        throw CommandFailure(error)
    }
}

private func perform(_ command: Command, environment: [String: String]) throws(CommandFailure) -> ExitStatus {
    switch command {
    case .initialize(let arguments): try initialize(arguments, environment: environment)
    case .add(let arguments): try add(arguments, environment: environment)
    case .send(let arguments): try send(arguments, environment: environment)
    case .wait(let arguments): try wait(arguments, environment: environment)
    case .run(let arguments): try runQueue(arguments, environment: environment)
    case .list(let arguments): try list(arguments, environment: environment)
    case .show(let arguments): try show(arguments, environment: environment)
    case .status(let arguments): try DrainqCLI.status(arguments, environment: environment)
    case .log(let arguments): try DrainqCLI.log(arguments, environment: environment)
    case .retry(let arguments): try retry(arguments, environment: environment)
    case .drop(let arguments): try drop(arguments, environment: environment)
    case .hold(let arguments): try hold(arguments, environment: environment)
    case .release(let arguments): try release(arguments, environment: environment)
    case .pause(let arguments): try pause(arguments, environment: environment)
    case .resume(let arguments): try resume(arguments, environment: environment)
    case .export(let arguments): try export(arguments, environment: environment)
    case .importOperations(let arguments): try importOperations(arguments, environment: environment)
    case .check(let arguments): try check(arguments, environment: environment)
    case .explain(let arguments): try explain(arguments, environment: environment)
    case .demo(let arguments): try demo(arguments, environment: environment)
    case .receive(let arguments): try receive(arguments)
    case .completions(let arguments): completions(arguments)
    case .manual(let arguments): manual(arguments)
    case .schema: schema()
    case .version: version()
    case .help(let arguments): help(arguments)
    case .agent: runLibcurlAgent()
    case .complete(let arguments): complete(arguments, environment: environment)
    }
}

private func runLibcurlAgent() -> Never {
    DeliveryAgent.main { concurrency, report throws(UnavailableTransport) in
        try CurlTransport(concurrency: concurrency, report: report)
    }
}

extension CommandName {
    /// The behaviour after standard output is closed: commands that only print end, the others finish their work.
    var outputWhenClosed: Output.WhenClosed {
        switch self {
        case .list, .show, .status, .log, .export, .check, .explain, .completions, .manual, .schema, .version, .help,
            .complete:
            .endProcess
        case .initialize, .add, .send, .wait, .run, .retry, .drop, .hold, .release, .pause, .resume, .import, .demo,
            .receive,
            .agent:
            .discard
        }
    }
}
