/// `drainq completions SHELL`
func completions(_ command: ParsedCommand) -> ExitStatus {
    for shell in command.operands.compactMap(Shell.init(rawValue:)) {
        standardOutput.write(completionScript(for: shell))
    }
    return .ok
}

/// `drainq manual [PAGE]`
func manual(_ command: ParsedCommand) -> ExitStatus {
    let page = command.operands.first.flatMap(ManualPage.init(rawValue:)) ?? .drainq
    standardOutput.write(page.text)
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
func help(_ command: ParsedCommand) -> ExitStatus {
    if let name = command.operands.first.flatMap(CommandName.init(rawValue:)) {
        standardOutput.write(helpText(of: .of(name)))
    } else {
        standardOutput.write(helpOverview())
    }
    return .ok
}
