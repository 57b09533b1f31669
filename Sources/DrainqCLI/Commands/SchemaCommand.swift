struct SchemaCommand: Command {
    static let name = "schema"

    static let description = CommandDescription(
        Self.self, "print a JSON Schema of the configuration",
        """
        Prints a JSON Schema (draft 7) of `drainq.json`. An editor completes and checks the file with it. Name it in \
        the file: `$schema: "./drainq.schema.json"`. `drainq check` finds more than a schema can.
        """,
        onlyPrints: true,
        examples: [
            Example("drainq schema > drainq.schema.json", "write the schema beside the configuration")
        ])

    func perform(environment: [String: String]) -> ExitStatus {
        standardOutput.write(configurationSchema())
        return .ok
    }
}
