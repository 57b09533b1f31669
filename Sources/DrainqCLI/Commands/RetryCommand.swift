import Drain
import Policy

/// A file that comes back from quarantine may evict operations (`dropOldest`), which is reported.
struct RetryCommand: Command {
    static let name = "retry"

    var action = ActionOptions()
    /// The rate at which operations become due; `nil` if all are due at once.
    var rate: Rate?
    /// Whether failed operations are retried as the newest of their keys.
    var isNewest = false

    mutating func take(operands: [String]) { action.ids = operands }

    static var options: [Option<Self>] {
        Option(
            .rate, .rate, \.rate, "make operations due at this rate, such as 20/s",
            """
            Operations become due one after the other at this rate, the oldest first: thousands of operations that \
            failed together do not come back together. Each waits for its time regardless of the schedule; --dry-run \
            shows the times.
            """)
        Option(
            .asNewest, \.isNewest, "also retry a value that a newer one of its key supersedes",
            """
            Gives a failed or quarantined operation a new time of creation, so it is sent after every operation of its \
            key, and no newer value supersedes it. Without this option the command leaves the operation alone if its \
            route coalesces (not with "merge") and a newer value of its key is in the queue; when that value is \
            delivered, the run removes the failed or quarantined one. An operation that waits keeps its time: the \
            command leaves it alone if a newer value supersedes it, with this option too.
            """)
        ActionOptions.options().map { $0.within(\.action) }
    }

    static let description = CommandDescription(
        Self.self, "make operations due again, with their attempts reset",
        """
        Puts failed operations back into the queue, makes deferred ones due now, and counts their attempts from the \
        start. Ids, filters or --all choose them; held operations only by their ids or --state held. A file in \
        quarantine is read again as it was read at first, by the same command with the same options; if it is an \
        operation now, it goes back, and if not, it stays, and the command reports the reason. If the command does not \
        know how the file is to be read, it says what to type. It leaves alone what has expired: a run would fail it \
        again. It refuses an operation that is held behind a failed one.
        """,
        operands: .selection,
        states: [.failed, .deferred, .held],
        examples: [
            Example("drainq retry --state failed --type crm", "retry the failed operations of a type"),
            Example("drainq retry --all --dry-run", "print the operations that it would retry"),
            Example("drainq retry --all --rate 20/s", "retry all failed and deferred operations at a limited rate"),
            Example(
                "drainq list --state failed --json | jq -r .id | drainq retry -",
                "retry the operations that your own filter selects"),
        ])

    func perform(environment: [String: String]) throws -> ExitStatus {
        let queue = try OpenQueue(action.global, environment)
        return try action.perform(.retry(spacing: rate?.interval, asNewest: isNewest), by: Self.name, on: queue)
    }
}
