/// Performs `drainq completions SHELL`.
func completions(_ arguments: CompletionsArguments) -> ExitStatus {
    if let shell = arguments.shell { standardOutput.write(completionScript(for: shell)) }
    return .ok
}

/// Performs `drainq manual [PAGE]`.
func manual(_ arguments: ManualArguments) -> ExitStatus {
    standardOutput.write(arguments.page.text)
    return .ok
}

/// Performs `drainq schema`.
func schema() -> ExitStatus {
    standardOutput.write(configurationSchema())
    return .ok
}

/// Performs `drainq version`.
func version() -> ExitStatus {
    standardOutput.line("drainq \(programVersion)")
    return .ok
}

/// Performs `drainq help [COMMAND]`, also for `--help` after a command.
func help(_ arguments: HelpArguments) -> ExitStatus {
    if let topic = arguments.topic {
        standardOutput.write(helpText(of: .of(topic)))
    } else {
        standardOutput.write(helpOverview())
    }
    return .ok
}
