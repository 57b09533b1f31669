extension CommandDescription {
    /// All commands, in the order of the documents. Parser and documents find them here by name, and refer to no type.
    static let commands: [any Command.Type] = [
        InitCommand.self,
        AddCommand.self,
        SendCommand.self,
        WaitCommand.self,
        RunCommand.self,
        ListCommand.self,
        ShowCommand.self,
        StatusCommand.self,
        LogCommand.self,
        RetryCommand.self,
        DropCommand.self,
        HoldCommand.self,
        ReleaseCommand.self,
        PauseCommand.self,
        ResumeCommand.self,
        ExportCommand.self,
        ImportCommand.self,
        CheckCommand.self,
        ExplainCommand.self,
        DemoCommand.self,
        ReceiveCommand.self,
        CompletionsCommand.self,
        ManualCommand.self,
        SchemaCommand.self,
        VersionCommand.self,
        HelpCommand.self,
        AgentCommand.self,
        CompleteCommand.self,
    ]

    /// The descriptions of all commands, in the same order.
    package static let table = commands.map { $0.description }
}
