/// Performs `drainq` without a command: shows the status of the queue. Without a queue it is a usage error, and
/// standard output gets the four commands to begin with.
func withoutCommand(environment: [String: String]) throws(CommandFailure) -> ExitStatus {
    do throws(CommandFailure) {
        return try failing { try StatusCommand().perform(environment: environment) }
    } catch {
        guard error.status == .noInput || error.status == .usage else { throw error }
        Messages.error(
            "no command is given, and there is no queue yet",
            hint: "'drainq help' lists the commands; begin with these four")
        standardOutput.write(
            """
            drainq init --url https://api.example.com/v1/events
            printf '{"n":1}\\n' | drainq add
            drainq run
            drainq status

            """)
        return .usage
    }
}
