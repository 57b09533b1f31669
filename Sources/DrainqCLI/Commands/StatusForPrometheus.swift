/// Performs `drainq status --prometheus`: prints what `metrics.textfile` would have at this moment.
func statusForPrometheus(
    _ arguments: StatusArguments, environment: [String: String]
) throws(CommandFailure) -> ExitStatus {
    try failing {
        let queue = try OpenQueue(arguments.queue, environment)
        standardOutput.write(try Exposition(of: queue, at: .now()).text)
        return .ok
    }
}
