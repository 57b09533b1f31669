/// What `drainq drop` is told.
struct DropArguments: CommandArguments {
    var action = ActionOptions()

    mutating func take(operands: [String]) { action.ids = operands }

    static var options: [Option<Self>] {
        ActionOptions.options().map { $0.within(\.action) }
    }
}

extension CommandDescription {
    static let drop = CommandDescription(
        .drop, Command.drop, "remove operations from the queue for good",
        """
        Removes operations that are not being attempted at this moment. Which ones is said by ids, by filters, or by \
        --all. There is no way back. What was held behind an operation that failed (`onFailure` of its route) goes on then, \
        and how many these are is said.
        """,
        operands: .selection,
        examples: [
            Example("drainq drop 6f9619ff-8b86-4011-b42d-00cf4fc964ff", "drop one operation"),
            Example(
                "drainq drop --state failed --before 30d --dry-run",
                "what would be dropped of what failed more than thirty days ago"),
        ])
}
