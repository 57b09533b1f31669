/// The arguments of `drainq release`.
struct ReleaseArguments: CommandArguments {
    var action = ActionOptions()

    mutating func take(operands: [String]) { action.ids = operands }

    static var options: [Option<Self>] {
        ActionOptions.options(everything).map { $0.within(\.action) }
    }

    private static var everything: Option<ActionOptions> {
        Option(
            .all, \.isForAll, "release every destination and operation",
            """
            Chooses every destination that is held, whose circuit breaker is open or whose server asked for time, and \
            every operation that is held individually.
            """
        )
    }
}

extension CommandDescription {
    static let release = CommandDescription(
        .release, Command.release, "end holds of operations or destinations",
        """
        Releases operations that are held individually, and resets their attempts. Ids, filters or --all choose them.

        With --destination as the only choice, the command ends the hold of the destination, whether a person or a run \
        began it, closes its circuit breaker and cancels the time that its server asked for. With --all it releases \
        every destination and every operation. Only `drainq resume` ends a pause. Remove the cause of the hold first: \
        the next run tests the destination with one operation.
        """,
        operands: .selection,
        examples: [
            Example(
                "drainq release --destination https://api.example.com", "release a destination whose token was renewed"),
            Example("drainq release --type crm", "release the operations of a type"),
            Example("drainq release --all", "release everything"),
        ])
}
