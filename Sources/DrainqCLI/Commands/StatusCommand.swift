import Policy
import Spool

/// Performs `drainq status`: prints what waits, where, since when and why, and how the last run ended.
func status(_ arguments: StatusArguments, environment: [String: String]) throws(CommandFailure) -> ExitStatus {
    if arguments.isForPrometheus { return try statusForPrometheus(arguments, environment: environment) }
    return try failing {
        let queue = try OpenQueue(arguments.queue, environment)
        if arguments.isPage {
            standardOutput.write(try QueuePage(of: queue, at: .now()).html)
            return .ok
        }
        let isJSON = arguments.isJSON
        if arguments.isWatching {
            try watch(queue, every: arguments.interval ?? StatusArguments.usualInterval, asJSON: isJSON)
        } else if arguments.interval != nil {
            throw CommandFailure(.usage, "'--interval' needs '--watch'", hint: "drainq status --watch --interval 5s")
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
