import Drain
import Policy
import Spool

struct ReleaseCommand: Command {
    static let name = "release"

    var action = ActionOptions()

    mutating func take(operands: [String]) { action.ids = operands }

    static var options: [Option<Self>] { ActionOptions.options(everything).map { $0.within(\.action) } }

    private static var everything: Option<ActionOptions> {
        Option(
            .all, \.isForAll, "release every destination and operation",
            """
            Chooses every destination that is held, whose circuit breaker is open or whose server asked for time, and \
            every operation that is held individually.
            """)
    }

    static let description = CommandDescription(
        Self.self, "end holds of operations or destinations",
        """
        Releases operations that are held individually, and resets their attempts. Ids, filters or --all choose them.

        With --destination as the only choice, the command ends the hold of the destination, whether a person or a run \
        began it, closes its circuit breaker and cancels the time that its server asked for. With --all it releases \
        every destination and every operation, also those that a person held, and names these. With --status, alone \
        or with --destination, it also releases the destinations that are held for such an answer: one repair, one \
        command. Only `drainq resume` ends a pause. Remove the cause of the hold first: \
        the next run tests the destination with one operation.
        """,
        operands: .selection,
        states: [.held],
        examples: [
            Example(
                "drainq release --destination https://api.example.com", "release a destination whose token was renewed"),
            Example("drainq release --status 401", "release every destination that is held for a 401"),
            Example("drainq release --type crm", "release the operations of a type"),
            Example("drainq release --all", "release everything"),
        ])

    func perform(environment: [String: String]) throws -> ExitStatus {
        let queue = try OpenQueue(action.global, environment)
        if action.choosesDestinationsAlone {
            return try queue.changeDestinations(
                .released, action.filter.destinations, action.global, isDryRun: action.isDryRun
            ) { $0.isOpen ? "is not held" : nil }
        }
        let names = try destinations(of: queue)
        try queue.record(.released, of: names, isDryRun: action.isDryRun, isJSON: action.global.isJSON)
        let known = try queue.knownDestinations()
        return try action.perform(.release, by: Self.name, on: queue, besides: names) { known.endOfHold(of: $0.name) }
    }

    /// Returns the destinations to release besides operations: with --all every closed one, with --status alone or with
    /// --destination those that are held for such an answer. A hold by hand has no answer.
    private func destinations(of queue: OpenQueue) throws -> [String] {
        let known = try queue.knownDestinations()
        if action.isForAll {
            let closed = queue.destinationChange.closed(known)
            for name in closed where !action.global.verbosity.isQuiet {
                guard let hold = known.states[name]?.hold, hold.isByHand else { continue }
                Messages.notice("'\(name)' was held by a person: \(hold.reason)")
            }
            return closed
        }
        guard action.choosesByAnswer else { return [] }
        let chosen = Set(try action.filter.destinations.map { try known.destination(named: $0).name })
        let held = known.states.filter { name, state in
            guard let hold = state.hold, !hold.isByHand, chosen.isEmpty || chosen.contains(name) else { return false }
            return action.filter.answers.contains { $0.matches(hold.shownCause) }
        }
        return held.keys.sorted()
    }
}

extension ActionOptions {
    /// Whether `--status` chooses, alone or with `--destination`: destinations are then held for an answer, too.
    fileprivate var choosesByAnswer: Bool {
        !filter.answers.isEmpty && ids.isEmpty && filter.states.isEmpty && filter.types.isEmpty && filter.key == nil
            && filter.since == nil && filter.before == nil && limit == nil
    }
}

extension KnownDestinations {
    /// Returns the command that ends an operation's hold with its destination or behind a failed one; `nil` if none.
    fileprivate func endOfHold(of name: EntryName) -> String? {
        let destination = table.destination(of: name)
        if isHeld(destination) { return pasted("release", "--destination", destination.name) }
        return failedHolder(of: name).map { pasted("retry", $0.description) }
    }
}
