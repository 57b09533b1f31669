/// Chooses up to `limit` of the operations that are due where several runs share them: a `Selection` for each rank that this
/// run has (`Peers`).
///
/// - The run's own share is chosen, the oldest first. Where nothing of it is due, the run helps: the next rank is chosen.
///   Runs that help at the same time have different ranks for an operation, so they help with different ones.
/// - Ranks that are far behind are chosen too: those of which more than twice as many operations are due as of all ranks
///   before them. Runs that share evenly have equally many left of each rank; a run that is stopped, or that is for other
///   types, leaves all of its share. So no operation waits for one run.
/// - Where the run helps it begins with the newest of what it has chosen of a rank. The run whose share it is begins with
///   the oldest: they meet once, in the middle. A run with a share of its own helps with less at once than its part of the
///   limit.
///
/// A run alone has one rank, and its choice is that of `Selection`.
package struct SharedSelection<Destination: Hashable, Element> {
    package typealias Candidate = Selection<Destination, Element>.Candidate

    private let limit: Int
    /// By rank. Each but the own has room for its part of the limit, and for a few where that is less.
    private var selections: [Selection<Destination, Element>]
    /// How many are due, by rank.
    private var due: [Int]

    package init(limit: Int, ranks: Int = 1) {
        self.limit = max(limit, 0)
        // So that what is left of many shares does not cost a listing for each few of it.
        let help = min(limit, max(limit / max(ranks, 1), Self.fewest))
        selections = [Selection(limit: limit)]
        for _ in 1..<max(ranks, 1) { selections.append(Selection(limit: help)) }
        due = Array(repeating: 0, count: selections.count)
    }

    /// Counts one that is due, whether or not it is offered.
    package mutating func count(rank: Int) {
        due[rank] += 1
    }

    /// Takes in one that is due, and says what else of its destination and rank could still be of use.
    package mutating func offer(
        _ name: EntryName, rank: Int, by ordering: Ordering = .any, destination: Destination, element: Element
    ) -> Reach {
        selections[rank].offer(name, by: ordering, destination: destination, element: element)
    }

    /// What is chosen, in the order in which to attempt it.
    package func chosen() -> [Candidate] {
        let own = selections[0].chosen()
        guard selections.count > 1 else { return own }
        var room = limit - min(own.count, (limit + selections.count - 1) / selections.count)
        var help: [Candidate] = []
        var before = due[0]
        for rank in selections.indices.dropFirst() {
            if due[rank] > 2 * before {
                let part = selections[rank].chosen().prefix(room)
                help += part.reversed()
                room -= part.count
            }
            before += due[rank]
        }
        return own.prefix(limit - help.count) + help
    }

    /// The newest of a destination that are not among the `chosen`, at most `Selection.spares`: of the run's own share first,
    /// so that runs that look for samples at the same time find different ones.
    package func newest(of destination: Destination, besides chosen: [Candidate]) -> [Candidate] {
        Array(selections.flatMap { $0.newest(of: destination, besides: chosen) }.prefix(Self.spares))
    }

    private static var fewest: Int { 64 }

    private static var spares: Int { Selection<Destination, Element>.spares }
}
