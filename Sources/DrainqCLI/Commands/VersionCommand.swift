/// `drainq version`, also for `--version`: prints the version.
struct VersionCommand: Command {
    static let name = "version"

    static let description = CommandDescription(
        Self.self, "print the version",
        "Prints the name and the version.",
        onlyPrints: true)

    func perform(environment: [String: String]) -> ExitStatus {
        standardOutput.line("drainq \(programVersion)")
        return .ok
    }
}
