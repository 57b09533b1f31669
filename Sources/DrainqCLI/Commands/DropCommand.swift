import Drain

struct DropCommand: Command {
    static let name = "drop"

    var action = ActionOptions()
    var includesFollowers = false

    mutating func take(operands: [String]) { action.ids = operands }

    static var options: [Option<Self>] {
        Option(
            .followers, \.includesFollowers, "also drop the operations held behind them",
            """
            Also drops the operations that are held behind the failed ones (`onFailure` of their route), the newest \
            first and before the failed ones: if the command is interrupted, no run sends them. Without this option \
            runs send them.
            """)
        ActionOptions.options().map { $0.within(\.action) }
    }

    static let description = CommandDescription(
        Self.self, "remove operations from the queue for good",
        """
        Removes operations that are not in flight; one in flight stays, and the exit status is 1. Ids, filters or \
        --all choose them. They cannot be restored. If a \
        failed operation holds others behind it (`onFailure` of its route), its drop releases them, and the command \
        prints their number; with --followers it drops them too.
        """,
        operands: .selection,
        examples: [
            Example(
                "drainq drop --followers 6f9619ff-8b86-4011-b42d-00cf4fc964ff",
                "drop a create that failed, and the updates behind it"),
            Example("drainq drop 6f9619ff-8b86-4011-b42d-00cf4fc964ff", "drop one operation"),
            Example(
                "drainq drop --state failed --before 30d --dry-run",
                "print the failed operations older than thirty days that it would drop"),
        ])

    func perform(environment: [String: String]) throws -> ExitStatus {
        let queue = try OpenQueue(action.global, environment)
        return try action.perform(.drop(withFollowers: includesFollowers), by: Self.name, on: queue)
    }
}
