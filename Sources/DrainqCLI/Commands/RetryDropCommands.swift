import Drain
import Policy

/// Performs `drainq retry`: makes operations due again, with the attempt count at 0, at once or one after the other at
/// a rate. A file that comes back from quarantine may evict operations (`dropOldest`), which is reported.
func retry(_ arguments: RetryArguments, environment: [String: String]) throws(CommandFailure) -> ExitStatus {
    try failing {
        let queue = try OpenQueue(arguments.action.queue, environment)
        return try arguments.action.perform(
            .retry(spacing: arguments.rate?.interval, asNewest: arguments.isNewest), by: .retry, on: queue)
    }
}

/// Performs `drainq drop`: removes operations for good.
func drop(_ arguments: DropArguments, environment: [String: String]) throws(CommandFailure) -> ExitStatus {
    try failing {
        let queue = try OpenQueue(arguments.action.queue, environment)
        return try arguments.action.perform(
            .drop(withFollowers: arguments.includesFollowers), by: .drop, on: queue)
    }
}
