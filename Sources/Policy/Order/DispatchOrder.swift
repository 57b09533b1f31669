/// The order in which chosen operations are attempted: oldest first, but a slot is kept for every destination that has
/// something to send and none of it in flight. So one destination that only times out cannot take every slot from the
/// others. Operations of one sequence are handed out one after the other.
///
/// What waits behind another one of its sequence stands in no line, so `next` looks only at what may go: one head for
/// each destination, oldest first, and of these no more than there are slots, besides those that may be sent nothing.
package struct DispatchOrder<Destination: Hashable, Element> {
    private struct Place {
        var element: Element
        var destination: Destination
        var sequence: SequenceKey?
    }

    /// What waits for one destination.
    private struct Line {
        /// What may be handed out, by its position; a position that is empty by now is skipped.
        var ready = Heap<Int>(by: <)
        /// Every position there was.
        var positions: [Int] = []
        /// As it stands in `heads`.
        var head: Int?
        var waiting = 0
    }

    private struct Sequence {
        /// The one in front, which stands in its line or is handed out.
        var first: Int
        var isHandedOut = false
        /// Those behind it, as far as they are not taken out.
        var rest: [Int] = []
        var next = 0
    }

    package let concurrency: Int
    /// How many are still to be attempted, also those that wait for another one of their sequence.
    package private(set) var waiting = 0
    /// By position, which is the order of `append`.
    private var places: [Place?] = []
    private var lines: [Destination: Line] = [:]
    private var sequences: [SequenceKey: Sequence] = [:]
    /// The first of every line in which something may be handed out, oldest first.
    private var heads: [(position: Int, destination: Destination)] = []

    package init(concurrency: Int) {
        self.concurrency = max(concurrency, 1)
    }

    /// Puts an operation behind all that were appended before it.
    package mutating func append(_ element: Element, to destination: Destination, sequence: SequenceKey? = nil) {
        let position = places.count
        places.append(Place(element: element, destination: destination, sequence: sequence))
        lines[destination, default: Line()].positions.append(position)
        lines[destination]!.waiting += 1
        waiting += 1
        if let sequence {
            guard sequences[sequence] == nil else {
                sequences[sequence]!.rest.append(position)
                return
            }
            sequences[sequence] = Sequence(first: position)
        }
        makeReady(position, destination)
    }

    package func isEmpty(of destination: Destination) -> Bool {
        lines[destination] == nil
    }

    // MARK: - Handing out

    /// The next one to attempt; `nil` when nothing may go or every slot is taken.
    ///
    /// `inFlight` counts the attempts under way by destination, `allowance` says how many there may be at once: 0 for a
    /// destination that may be sent nothing now, for which no slot is kept. One that has an attempt under way gets
    /// another only while more slots are free than other destinations wait for their first.
    package mutating func next(
        inFlight: [Destination: Int], allowance: (Destination) -> Int = { _ in .max }
    ) -> Element? {
        let free = concurrency - inFlight.values.reduce(0, +)
        guard free > 0 else { return nil }
        var busy: Destination?
        var idle: Destination?
        var idleCount = 0
        for head in heads {
            let flying = inFlight[head.destination, default: 0]
            guard flying < allowance(head.destination) else { continue }
            if flying > 0 {
                busy = busy ?? head.destination
            } else {
                idle = idle ?? head.destination
                idleCount += 1
                if busy == nil || idleCount >= free { break }
            }
        }
        // A busy one that was met is older than the idle one.
        if let busy, idleCount < free { return take(first: busy) }
        return idle.flatMap { take(first: $0) }
    }

    /// Further ones of a destination, for one request with one just handed out: oldest first, up to the first that does
    /// not fit, so that order is kept, and never two of one sequence.
    package mutating func more(
        of destination: Destination, upTo limit: Int, where fits: (Element) -> Bool
    ) -> [Element] {
        var taken: [Element] = []
        while taken.count < limit, let head = lines[destination]?.head, fits(places[head]!.element),
            let element = take(first: destination)
        {
            taken.append(element)
        }
        return taken
    }

    /// The newest few of a destination, newest first: to see whether they meet the same end as the oldest did. Of a
    /// sequence only its first may be among them.
    package mutating func newest(of destination: Destination, upTo limit: Int) -> [Element] {
        guard let line = lines[destination] else { return [] }
        let ready = line.ready.elements.filter { places[$0] != nil }.sorted(by: >).prefix(max(limit, 0))
        return ready.map { take($0) }
    }

    /// The turn of a sequence is over: with `continues` its next one may be handed out, else all the rest of it is taken
    /// out and returned, in order.
    package mutating func settled(_ key: SequenceKey, continues: Bool) -> [Element] {
        guard let sequence = sequences[key] else { return [] }
        if continues {
            if sequence.isHandedOut { advance(key) }
            return []
        }
        sequences[key] = nil
        let rest = (sequence.isHandedOut ? [] : [sequence.first]) + sequence.rest[sequence.next...]
        return rest.filter { places[$0] != nil }.map { remove($0) }
    }

    // MARK: - Taking out

    /// Takes out all that wait for a destination, in order: it is held or suspended.
    package mutating func removeAll(of destination: Destination) -> [Element] {
        guard let line = lines[destination] else { return [] }
        return line.positions.filter { places[$0] != nil }.map { position in
            if let key = places[position]!.sequence, sequences[key]?.isHandedOut == false { sequences[key] = nil }
            return remove(position)
        }
    }

    /// Takes out all that wait, in order: the run ends.
    package mutating func removeAll() -> [Element] {
        let removed = places.compactMap { $0?.element }
        places = []
        lines = [:]
        heads = []
        waiting = 0
        // What is handed out still keeps those of its sequence back that may come.
        sequences = sequences.filter { $0.value.isHandedOut }.mapValues {
            Sequence(first: $0.first, isHandedOut: true)
        }
        return removed
    }

    // MARK: - Lines

    private mutating func take(first destination: Destination) -> Element? {
        lines[destination]?.head.map { take($0) }
    }

    private mutating func take(_ position: Int) -> Element {
        if let key = places[position]!.sequence { sequences[key]!.isHandedOut = true }
        return remove(position)
    }

    private mutating func remove(_ position: Int) -> Element {
        let place = places[position]!
        places[position] = nil
        waiting -= 1
        lines[place.destination]!.waiting -= 1
        if lines[place.destination]!.head == position { updateHead(of: place.destination) }
        if lines[place.destination]!.waiting == 0 { lines[place.destination] = nil }
        return place.element
    }

    private mutating func makeReady(_ position: Int, _ destination: Destination) {
        lines[destination]!.ready.insert(position)
        if lines[destination]!.head.map({ position < $0 }) ?? true { updateHead(of: destination) }
    }

    private mutating func advance(_ key: SequenceKey) {
        while let sequence = sequences[key], sequence.next < sequence.rest.count {
            let position = sequence.rest[sequence.next]
            sequences[key]!.next += 1
            guard let place = places[position] else { continue }
            sequences[key]!.first = position
            sequences[key]!.isHandedOut = false
            makeReady(position, place.destination)
            return
        }
        sequences[key] = nil
    }

    private mutating func updateHead(of destination: Destination) {
        if let old = lines[destination]!.head { heads.remove(at: indexOfHead(from: old)) }
        while let first = lines[destination]!.ready.first, places[first] == nil {
            _ = lines[destination]!.ready.removeFirst()
        }
        let head = lines[destination]!.ready.first
        lines[destination]!.head = head
        if let head { heads.insert((head, destination), at: indexOfHead(from: head)) }
    }

    /// Where the first head of that position or a later one stands.
    private func indexOfHead(from position: Int) -> Int {
        var range = 0..<heads.count
        while !range.isEmpty {
            let middle = (range.lowerBound + range.upperBound) / 2
            if heads[middle].position < position {
                range = middle + 1..<range.upperBound
            } else {
                range = range.lowerBound..<middle
            }
        }
        return range.lowerBound
    }
}
