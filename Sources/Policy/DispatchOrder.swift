/// The order in which chosen operations are attempted: oldest first, but a slot is kept for every destination that has
/// work and none of it in flight. So one destination that only times out cannot take every slot from the others.
package struct DispatchOrder<Destination: Hashable, Element> {
    private struct Line {
        var elements: [(position: Int, element: Element)] = []
        var next = 0
        var head: (position: Int, element: Element)? { next < elements.count ? elements[next] : nil }
    }

    package let concurrency: Int
    /// How many are still to be attempted.
    package private(set) var waiting = 0
    private var lines: [Destination: Line] = [:]
    private var appended = 0

    package init(concurrency: Int) {
        self.concurrency = max(concurrency, 1)
    }

    /// Puts an operation behind all that were appended before it.
    package mutating func append(_ element: Element, to destination: Destination) {
        lines[destination, default: Line()].elements.append((appended, element))
        appended += 1
        waiting += 1
    }

    /// The next one to attempt; `nil` when nothing waits or every slot is taken.
    ///
    /// `inFlight` counts the attempts under way by destination. One that has an attempt under way gets another only
    /// while more slots are free than other destinations wait for their first.
    package mutating func next(inFlight: [Destination: Int]) -> Element? {
        let free = concurrency - inFlight.values.reduce(0, +)
        guard free > 0 else { return nil }
        let idle = lines.keys.count { inFlight[$0, default: 0] == 0 }
        let allowed = lines.filter { inFlight[$0.key, default: 0] == 0 || free > idle }
        let first = allowed.min {
            $0.value.elements[$0.value.next].position < $1.value.elements[$1.value.next].position
        }
        guard let (destination, line) = first, let head = line.head else { return nil }
        lines[destination]!.next += 1
        if lines[destination]!.head == nil { lines[destination] = nil }
        waiting -= 1
        return head.element
    }

    /// Takes out all that wait for a destination, in order: it is held or suspended.
    package mutating func removeAll(of destination: Destination) -> [Element] {
        guard let line = lines.removeValue(forKey: destination) else { return [] }
        let removed = line.elements[line.next...].map(\.element)
        waiting -= removed.count
        return removed
    }

    /// Takes out all that wait, in order: the run ends.
    package mutating func removeAll() -> [Element] {
        let removed = lines.values.flatMap { $0.elements[$0.next...] }.sorted { $0.position < $1.position }
        lines = [:]
        waiting = 0
        return removed.map(\.element)
    }
}
