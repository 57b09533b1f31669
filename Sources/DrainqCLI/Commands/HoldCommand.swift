import Drain
import Policy

struct HoldCommand: Command {
    static let name = "hold"

    var action = ActionOptions()
    var reason: String?

    mutating func take(operands: [String]) { action.ids = operands }

    static var options: [Option<Self>] {
        Option(
            .reason, .text("TEXT"), \.reason, "the reason that drainq status shows",
            "Why the destination is held; `drainq status` shows it. Only with --destination alone.")
        ActionOptions.options().map { $0.within(\.action) }
    }

    static let description = CommandDescription(
        Self.self, "keep operations or a destination from being sent",
        """
        Holds waiting operations: runs do not attempt them until they are released, and no attempt is counted. Ids, \
        filters or --all choose them. An operation in flight is not held, and the exit status is 1.

        With --destination as the only choice, the command holds the destination itself: its waiting operations and \
        those added later. A run never probes an operation or a destination that a person holds.
        """,
        operands: .selection,
        states: [.new, .deferred],
        examples: [
            Example("drainq hold 6f9619ff-8b86-4011-b42d-00cf4fc964ff", "hold one operation"),
            Example(
                "drainq hold --destination https://api.example.com --reason 'moving to a new server'",
                "hold a destination, with operations added later"),
        ])

    func perform(environment: [String: String]) throws -> ExitStatus {
        let queue = try OpenQueue(action.global, environment)
        if action.choosesDestinationsAlone {
            return try queue.changeDestinations(
                .heldByHand(reason: reason ?? "held by a person"), action.filter.destinations, action.global,
                isDryRun: action.isDryRun)
        }
        if reason != nil {
            throw CommandFailure(
                .usage, "'--reason' applies only to the hold of a destination",
                hint: "choose by --destination alone: drainq hold --destination D --reason TEXT")
        }
        return try action.perform(.hold, by: Self.name, on: queue)
    }
}
