/// Chooses up to `limit` of the due operations that several runs share: a `Selection` for each rank of this run
/// (`Peers`).
///
/// - Chooses the run's own share, oldest first. If none of it is due, the run helps: it chooses from the next rank.
///   Runs that help at the same time have different ranks for an operation, so they help with different operations.
/// - Also chooses from ranks that are far behind, with more than twice as many due operations as all ranks before them.
///   Runs that share evenly have equally many left of each rank. A stopped run, or a run that sends other types, leaves
///   all of its share. So no operation waits for one run.
/// - Helps with the newest chosen operation of a rank first. The share's own run begins with the oldest: the two runs
///   meet once, in the middle. The own share keeps at least its part of the limit.
///
/// A run alone has one rank, and chooses as `Selection` does.
package struct SharedSelection<Destination: Hashable, Element> {
    package typealias Candidate = Selection<Destination, Element>.Candidate

    private let limit: Int
    /// The selections by rank. Each but the own has room for its part of the limit, and at least for `fewest`.
    private var selections: [Selection<Destination, Element>]
    /// The number of due operations, by rank.
    private var due: [Int]

    package init(limit: Int, ranks: Int = 1) {
        self.limit = max(limit, 0)
        // Leaves room for `fewest`: the rest of many shares must not cost a listing for every few operations.
        let help = min(limit, max(limit / max(ranks, 1), Self.fewest))
        selections = [Selection(limit: limit)]
        for _ in 1..<max(ranks, 1) { selections.append(Selection(limit: help)) }
        due = Array(repeating: 0, count: selections.count)
    }

    /// Counts a due operation, offered or not.
    package mutating func count(rank: Int) { due[rank] += 1 }

    /// Takes in a due operation. Returns which others of its destination and rank can still be of use.
    package mutating func offer(
        _ name: EntryName, rank: Int, by ordering: Ordering = .any, destination: Destination, fails: Bool = false,
        element: Element
    ) -> SortKeyBounds {
        selections[rank].offer(name, by: ordering, destination: destination, fails: fails, element: element)
    }

    /// Returns the chosen operations, in dispatch order.
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

    /// Returns the newest of a destination that are not among the `chosen`, at most `Selection.spares`. The run's own
    /// share comes first, so runs that look for samples at the same time find different ones.
    package func newest(of destination: Destination, besides chosen: [Candidate]) -> [Candidate] {
        Array(selections.flatMap { $0.newest(of: destination, besides: chosen) }.prefix(Self.spares))
    }

    private static var fewest: Int { 64 }

    private static var spares: Int { Selection<Destination, Element>.spares }
}
