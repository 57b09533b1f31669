/// Chooses up to `limit` of the operations that are due, fed one name at a time in any order.
///
/// The oldest come first (by `createdAt`, then by id); those of routes that order the newest first stand behind them, the
/// newest first. What is said of the older and the younger here is said of that rank, and so is a `Reach`. Only where more are due than `limit` does each destination first
/// get an equal share of it, its oldest; the oldest of all take what is left over. With more destinations than `limit`
/// the share is one each, for those whose oldest has waited longest.
///
/// Exact in one pass and O(`limit`) memory: an element of the result is either among the oldest `limit` of all, or among
/// the oldest share of its destination. (What is left over, L = limit − shares taken, goes to the oldest outside the
/// shares; of the oldest `limit` at least L are outside, so none of them is missed.) Shares only shrink while new
/// destinations appear, so what a smaller share dropped is never needed again.
///
/// Besides, the newest few of each destination are kept, for samples and probes (O(destinations × `spares`) memory).
package struct Selection<Destination: Hashable, Element> {
    package final class Candidate: Ranked {
        package let destination: Destination
        package let element: Element

        fileprivate init(_ destination: Destination, _ element: Element, _ place: Int, _ key: CandidateKey) {
            self.destination = destination
            self.element = element
            super.init(place, key)
        }
    }

    /// How many of the newest of a destination are kept besides those that are chosen.
    package static var spares: Int { 3 }

    package let limit: Int

    /// How many there were, of those that were in reach.
    private var offered = 0
    private var oldest = BoundedHeap<Ranked>(by: Ranked.isOlder)
    /// The place of each destination that was seen, in the order in which they were.
    private var places: [Destination: Int] = [:]
    /// By place.
    private var newest: [BoundedHeap<Ranked>] = []
    private var shares: [Int: BoundedHeap<Ranked>] = [:]
    /// More destinations than `limit` have been seen; only the `limit` with the oldest heads are in `shares`.
    private var isCrowded = false
    /// While crowded: the one in `shares` whose head is youngest. Its head can only get older.
    private var youngest: (place: Int, head: CandidateKey)?

    package init(limit: Int) {
        self.limit = max(limit, 0)
    }

    /// Takes in one that is due, and says what else of its destination could still be of use. What is outside of that need
    /// not be offered, which for most of a million saves making anything of their names.
    @discardableResult
    package mutating func offer(
        _ name: EntryName, by ordering: Ordering = .any, destination: Destination, element: Element
    ) -> Reach {
        if limit == 0 { return .nothing }
        offered += 1
        let place = place(of: destination)
        let candidate = Candidate(
            destination, element, place, CandidateKey(age: Age(name, by: ordering), serial: offered))
        oldest.offer(candidate, capacity: limit)
        newest[place].offer(candidate, capacity: Self.spares)
        offerShare(candidate)
        return reach(of: place)
    }

    private mutating func place(of destination: Destination) -> Int {
        if let place = places[destination] { return place }
        places[destination] = newest.count
        newest.append(BoundedHeap(by: Ranked.isNewer))
        return newest.count - 1
    }

    private mutating func offerShare(_ candidate: Ranked) {
        if let index = shares.index(forKey: candidate.place) {
            shares.values[index].offer(candidate, capacity: share)
            if youngest?.place == candidate.place { youngest = nil }
            return
        }
        if shares.count == limit {
            isCrowded = true
            let last = youngest ?? findYoungest()
            youngest = last
            guard candidate.key < last.head else { return }
            shares[last.place] = nil
            youngest = nil
        }
        var heap = BoundedHeap<Ranked>(by: Ranked.isOlder)
        heap.offer(candidate, capacity: 1)
        shares[candidate.place] = heap
    }

    /// It only ever shrinks: what heaps hold that are full gets older, or newer, with all they take; shares get smaller; and
    /// a destination that lost its place to an older one gets it back only with one that is older still.
    private func reach(of place: Int) -> Reach {
        var reach = Reach.everything
        guard offered > limit, let oldest = oldest.largest(whereFull: limit) else { return reach }
        let head = shares[place].map { $0.largest(whereFull: self.share)?.key } ?? youngest?.head
        if let head { reach.latest = max(oldest.key, head).age.createdAt }
        if let first = newest[place].largest(whereFull: Self.spares)?.key { reach.earliest = first.age.createdAt }
        return reach
    }

    /// Returns the chosen operations, in dispatch order.
    package func chosen() -> [Candidate] {
        if offered <= limit { return candidates(oldest.sorted()) }
        var taken = shares.values.flatMap { $0.sorted().prefix(share) }
        let serials = Set(taken.map(\.key.serial))
        let rest = oldest.sorted().filter { !serials.contains($0.key.serial) }
        taken += rest.prefix(limit - taken.count)
        return candidates(taken.sorted(by: Ranked.isOlder))
    }

    /// The newest of a destination that are not among the `chosen`, newest first, at most `spares`.
    ///
    /// Exact although only the newest few are kept: of a destination the oldest are chosen, so those that are not are its
    /// newest.
    package func newest(of destination: Destination, besides chosen: [Candidate]) -> [Candidate] {
        guard let place = places[destination] else { return [] }
        let taken = Set(chosen.lazy.map(ObjectIdentifier.init))
        return candidates(newest[place].sorted().filter { !taken.contains(ObjectIdentifier($0)) })
    }

    private func candidates(_ ranked: [Ranked]) -> [Candidate] {
        ranked.map { $0 as! Candidate }
    }

    private var share: Int {
        isCrowded ? 1 : max(1, limit / max(shares.count, 1))
    }

    private func findYoungest() -> (place: Int, head: CandidateKey) {
        // Crowded means a share of one, but a heap not offered to since may still hold more: the head is the smallest.
        let heads = shares.map { (place: $0.key, head: $0.value.elements.map(\.key).min()!) }
        return heads.max { $0.head < $1.head }!
    }
}

/// What a heap holds: a class, because each stands in up to three of them, and of one type whatever the elements are, so
/// that their many comparisons are compiled for it.
package class Ranked {
    /// The place of its destination.
    fileprivate let place: Int
    fileprivate let key: CandidateKey

    fileprivate init(_ place: Int, _ key: CandidateKey) {
        self.place = place
        self.key = key
    }

    fileprivate static func isOlder(left: Ranked, right: Ranked) -> Bool { left.key < right.key }
    fileprivate static func isNewer(left: Ranked, right: Ranked) -> Bool { right.key < left.key }
}

/// Every candidate has another one: two files of one id and time still differ by when they were offered.
private struct CandidateKey: Comparable {
    var age: Age
    var serial: Int

    static func < (left: CandidateKey, right: CandidateKey) -> Bool {
        left.age != right.age ? left.age < right.age : left.serial < right.serial
    }
}
