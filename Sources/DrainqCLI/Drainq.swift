import Delivery
package import Policy

/// Runs the program: parses `arguments` (without the program's name), performs the command and returns the exit status.
package func run(arguments: [RawText], environment: [String: String] = OwnEnvironment.read()) -> ExitStatus {
    occupyStandardDescriptors()
    ignoreSignalsOfWrites()
    waitForChildren()
    keepOwnerPermissions()
    let status: ExitStatus
    do throws(CommandFailure) {
        if arguments.isEmpty {
            status = try withoutCommand(environment: environment)
        } else {
            let parsed = try failing { () throws(UsageError) in try ParsedCommand(arguments: arguments) }
            let onlyPrints = type(of: parsed.command).description.onlyPrints
            standardOutput.setWhenClosed(onlyPrints ? .endProcess : .discard)
            nameInCommands(parsed.place)
            status = try failing { try parsed.command.perform(environment: environment) }
        }
    } catch {
        for message in error.messages { Messages.error(message.text, hint: message.hint) }
        status = error.status
    }
    guard let failure = standardOutput.finish() else { return status }
    Messages.error("cannot write standard output: \(failure)")
    return .first(of: [status, .inputOutput])
}
