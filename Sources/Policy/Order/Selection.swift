/// Chooses up to `limit` of the due operations, which are offered one at a time in any order.
///
/// The oldest come first (by `createdAt`, then by id). Operations of routes that order the newest first stand behind
/// them, newest first; "older" and "younger" below, and a `SortKeyBounds`, mean this order. Only if more operations are
/// due than `limit`, each destination first gets an equal share for its oldest; the oldest of the others take the rest.
/// With more destinations than `limit`, a share is one operation: first for the destinations that do not fail, then for
/// those whose oldest has waited longest.
///
/// Exact in one pass and O(`limit`) memory: an element of the result is among the oldest `limit` of all, or among the
/// oldest share of its destination. (The rest, L = limit − shares taken, goes to the oldest outside the shares; at
/// least L of the oldest `limit` are outside, so none of them is missed.) Shares only shrink while new destinations
/// appear, so an element that a smaller share dropped is never needed again.
///
/// Also keeps the newest few of each destination, for samples and probes (O(destinations × `spares`) memory).
package struct Selection<Destination: Hashable, Element> {
    package final class Candidate: KeyedCandidate {
        package let destination: Destination
        package let element: Element

        fileprivate init(_ destination: Destination, _ element: Element, _ place: Int, _ key: CandidateKey) {
            self.destination = destination
            self.element = element
            super.init(place, key)
        }
    }

    /// The number of newest operations kept for each destination.
    package static var spares: Int { 3 }

    package let limit: Int

    private var offered = 0
    private var oldest = BoundedHeap<KeyedCandidate>(by: KeyedCandidate.isOlder)
    /// The place of each destination, numbered in order of appearance.
    private var places: [Destination: Int] = [:]
    /// The newest operations of each destination, by place.
    private var newest: [BoundedHeap<KeyedCandidate>] = []
    private var shares: [Int: BoundedHeap<KeyedCandidate>] = [:]
    /// The places of the destinations that fail: whose last answer was no delivery.
    private var failing: Set<Int> = []
    /// Whether more destinations than `limit` were offered. `shares` then has only the `limit` that come first.
    private var isCrowded = false
    /// While crowded: the destination in `shares` that comes last, if known. It can only come earlier.
    private var last: (place: Int, head: CandidateKey)?

    package init(limit: Int) { self.limit = max(limit, 0) }

    /// Takes in a due operation. Returns which others of its destination can still be of use. Operations outside need
    /// not be offered, so most of a million names never become an `EntryName`.
    @discardableResult
    package mutating func offer(
        _ name: EntryName, by ordering: Ordering = .any, destination: Destination, fails: Bool = false,
        element: Element
    ) -> SortKeyBounds {
        if limit == 0 { return .nothing }
        offered += 1
        let place = place(of: destination)
        if fails { failing.insert(place) }
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
        newest.append(BoundedHeap { KeyedCandidate.isOlder(left: $1, right: $0) })
        return newest.count - 1
    }

    private mutating func offerShare(_ candidate: KeyedCandidate) {
        if let index = shares.index(forKey: candidate.place) {
            shares.values[index].offer(candidate, capacity: share)
            if last?.place == candidate.place { last = nil }
            return
        }
        if shares.count == limit {
            isCrowded = true
            let end = last ?? findLast()
            last = end
            guard comes((candidate.place, candidate.key), before: end) else { return }
            shares[end.place] = nil
            last = nil
        }
        var heap = BoundedHeap<KeyedCandidate>(by: KeyedCandidate.isOlder)
        heap.offer(candidate, capacity: 1)
        shares[candidate.place] = heap
    }

    /// Returns the reach of a destination, which only shrinks: the elements of full heaps get older (or newer), shares
    /// get smaller, and a destination that lost its share regains it only with an operation that comes earlier still.
    private func reach(of place: Int) -> SortKeyBounds {
        var reach = SortKeyBounds.everything
        guard offered > limit, let oldest = oldest.largest(whereFull: limit) else { return reach }
        let head = shares[place].map { $0.largest(whereFull: self.share)?.key } ?? last?.head
        if let head { reach.latest = max(oldest.key, head).age.createdAt }
        if let first = newest[place].largest(whereFull: Self.spares)?.key { reach.earliest = first.age.createdAt }
        return reach
    }

    /// Returns the chosen operations, in dispatch order.
    package func chosen() -> [Candidate] {
        if offered <= limit { return candidates(oldestFirst(oldest.elements)) }
        var taken = shares.values.flatMap { $0.sorted().prefix(share) }
        let serials = Set(taken.map(\.key.serial))
        let rest = oldestFirst(oldest.elements).filter { !serials.contains($0.key.serial) }
        taken += rest.prefix(limit - taken.count)
        return candidates(oldestFirst(taken))
    }

    /// Returns the newest of a destination that are not among the `chosen`, newest first, at most `spares`.
    ///
    /// Exact although only the newest few are kept: the oldest are chosen, so the others are the newest.
    package func newest(of destination: Destination, besides chosen: [Candidate]) -> [Candidate] {
        guard let place = places[destination] else { return [] }
        let taken = Set(chosen.lazy.map(ObjectIdentifier.init))
        return candidates(newest[place].sorted().filter { !taken.contains(ObjectIdentifier($0)) })
    }

    /// Sorts by the times, whose comparison counts no references.
    private func oldestFirst(_ keyed: [KeyedCandidate]) -> [KeyedCandidate] {
        let times = keyed.map { $0.key.age.createdAt }
        return keyed.indices.sorted { left, right in
            times[left] != times[right]
                ? times[left] < times[right] : KeyedCandidate.isOlder(left: keyed[left], right: keyed[right])
        }.map { keyed[$0] }
    }

    private func candidates(_ keyed: [KeyedCandidate]) -> [Candidate] { keyed.map { $0 as! Candidate } }

    private var share: Int { isCrowded ? 1 : max(1, limit / max(shares.count, 1)) }

    private func findLast() -> (place: Int, head: CandidateKey) {
        // A heap may hold more than a crowded share of one since its last offer: its smallest element is the head.
        let heads = shares.map { (place: $0.key, head: $0.value.elements.map(\.key).min()!) }
        return heads.max { comes($0, before: $1) }!
    }

    /// Whether a destination comes before another one by their heads, while crowded.
    private func comes(_ one: (place: Int, head: CandidateKey), before other: (place: Int, head: CandidateKey)) -> Bool
    {
        let (fails, otherFails) = (failing.contains(one.place), failing.contains(other.place))
        return fails == otherFails ? one.head < other.head : otherFails
    }
}

/// An element of the heaps. A class, because up to three heaps hold it; not generic: comparisons are compiled for it.
package class KeyedCandidate {
    /// The place of its destination.
    fileprivate let place: Int
    fileprivate let key: CandidateKey

    fileprivate init(_ place: Int, _ key: CandidateKey) {
        self.place = place
        self.key = key
    }

    /// Compares the times first, and copies the ids only of equal times.
    fileprivate static func isOlder(left: KeyedCandidate, right: KeyedCandidate) -> Bool {
        let (time, other) = (left.key.age.createdAt, right.key.age.createdAt)
        return time != other ? time < other : left.key < right.key
    }
}

/// The sort key of a candidate, different for each: files of one id and time still differ by when they were offered.
private struct CandidateKey: Comparable {
    var age: Age
    var serial: Int

    static func < (left: CandidateKey, right: CandidateKey) -> Bool {
        left.age != right.age ? left.age < right.age : left.serial < right.serial
    }
}
