/// What `drainq release` is told.
struct ReleaseArguments: CommandArguments {
    var action = ActionOptions()

    mutating func take(operands: [String]) { action.ids = operands }

    static var options: [Option<Self>] {
        ActionOptions.options(everything).map { $0.within(\.action) }
    }

    private static var everything: Option<ActionOptions> {
        Option(
            .all, \.isForAll, "release every destination and operation",
            "Every destination that is held, whose circuit breaker is open or whose server asked for time, and every operation that is held by itself."
        )
    }
}

extension CommandDescription {
    static let release = CommandDescription(
        .release, Command.release, "end holds of operations or destinations",
        """
        Releases operations that are held by themselves, with their attempts reset. Which ones is said by ids, by \
        filters, or by --all.

        With --destination and nothing else that chooses, the hold of the destination ends, whoever began it, and so do \
        its open circuit breaker and the time that its server asked for. With --all every destination and every operation is \
        released. A pause ends by `drainq resume` alone. Whatever caused a hold should be mended first: the next run finds \
        out with one operation.
        """,
        operands: .selection,
        examples: [
            Example(
                "drainq release --destination https://api.example.com", "release a place whose token was renewed"),
            Example("drainq release --type crm", "release the operations of a type"),
            Example("drainq release --all", "release everything"),
        ])
}
