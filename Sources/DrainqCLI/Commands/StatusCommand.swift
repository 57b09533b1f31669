import Policy
import Spool

/// `drainq status`: what waits, where, since when and why, and how the last run ended.
func status(_ command: ParsedCommand, environment: [String: String]) throws(CommandFailure) -> ExitStatus {
    if command.flag(.prometheus) { return try statusForPrometheus(command, environment: environment) }
    return try failing {
        let queue = try OpenQueue(command, environment)
        let isJSON = command.flag(.json)
        if command.flag(.watch) {
            try watch(queue, every: command.duration(.interval) ?? .seconds(2), asJSON: isJSON)
        } else if command.isGiven(.interval) {
            throw CommandFailure(.usage, "'--interval' is for --watch", hint: "drainq status --watch --interval 5s")
        } else {
            let now = Timestamp.now()
            let status = try QueueStatus(of: queue, at: now)
            if isJSON {
                JSONLine.write(status)
            } else {
                StatusReport(status: status, now: now, terminal: .forResults(environment)).lines
                    .forEach(standardOutput.line)
            }
        }
        return .ok
    }
}
