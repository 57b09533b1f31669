/// `drainq completions SHELL`
func completions(_ arguments: CompletionsArguments) -> ExitStatus {
    if let shell = arguments.shell { standardOutput.write(completionScript(for: shell)) }
    return .ok
}

/// `drainq manual [PAGE]`
func manual(_ arguments: ManualArguments) -> ExitStatus {
    standardOutput.write(arguments.page.text)
    return .ok
}

/// `drainq schema`
func schema() -> ExitStatus {
    standardOutput.write(configurationSchema())
    return .ok
}

/// `drainq version`
func version() -> ExitStatus {
    standardOutput.line("drainq \(programVersion)")
    return .ok
}

/// `drainq help [COMMAND]`, and `--help` after any command
func help(_ arguments: HelpArguments) -> ExitStatus {
    if let topic = arguments.topic {
        standardOutput.write(helpText(of: .of(topic)))
    } else {
        standardOutput.write(helpOverview())
    }
    return .ok
}
