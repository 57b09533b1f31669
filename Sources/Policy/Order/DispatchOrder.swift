/// The order in which chosen operations are attempted: oldest first, but a slot is kept for every destination that has
/// something to send and none of it in flight. So one destination that only times out cannot take every slot from the
/// others. Operations of one sequence are handed out one after the other.
///
/// It is an order of numbers: an operation is its position, the number of those appended before it, and each destination
/// has a line, numbered from 0 by the caller.
///
/// What waits behind another one of its sequence stands in no line, so `next` looks only at what may go: one head for
/// each destination, oldest first, and of these no more than there are slots, besides those that may be sent nothing.
package struct DispatchOrder {
    private struct Place {
        var line: Int
        var sequence: SequenceKey?
        var isTaken = false
    }

    /// The operations that wait for one destination.
    private struct Line {
        /// The positions that may be handed out. One that has been taken is skipped.
        var ready = Heap<Int>(by: <)
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

    /// How many are still to be attempted, also those that wait for another one of their sequence.
    package private(set) var waiting = 0
    private var places: [Place] = []
    private var lines: [Line] = []
    private var sequences: [SequenceKey: Sequence] = [:]
    /// The first of every line in which something may be handed out, oldest first.
    private var heads: [(position: Int, line: Int)] = []

    package init() {}

    /// Puts an operation behind all that were appended before it.
    package mutating func append(to line: Int, sequence: SequenceKey? = nil) {
        let position = places.count
        places.append(Place(line: line, sequence: sequence))
        while lines.count <= line { lines.append(Line()) }
        lines[line].waiting += 1
        waiting += 1
        if let sequence {
            guard sequences[sequence] == nil else {
                sequences[sequence]!.rest.append(position)
                return
            }
            sequences[sequence] = Sequence(first: position)
        }
        makeReady(position)
    }

    /// Returns the line of what was appended at this position.
    package func line(of position: Int) -> Int { places[position].line }

    /// Whether nothing waits in that line.
    package func isEmpty(_ line: Int) -> Bool {
        line >= lines.count || lines[line].waiting == 0
    }

    // MARK: - Handing out

    /// The next one to attempt; `nil` when nothing may go.
    ///
    /// `free` is how many more attempts may be under way; `inFlight` says how many of a line are, and `allowance` how many
    /// may be at once: 0 for a destination that may be sent nothing now, for which no slot is kept. One that has an attempt
    /// under way gets another only while more slots are free than other destinations wait for their first.
    package mutating func next(
        free: Int, inFlight: (_ line: Int) -> Int, allowance: (_ line: Int) -> Int = { _ in .max }
    ) -> Int? {
        guard free > 0 else { return nil }
        var busy: Int?
        var idle: Int?
        var idleCount = 0
        for head in heads {
            let flying = inFlight(head.line)
            guard flying < allowance(head.line) else { continue }
            if flying > 0 {
                busy = busy ?? head.position
            } else {
                idle = idle ?? head.position
                idleCount += 1
                if busy == nil || idleCount >= free { break }
            }
        }
        // A busy one that was met is older than the idle one.
        let next = idleCount < free ? busy ?? idle : idle
        if let next { take(next) }
        return next
    }

    /// The next one of a line where it fits, for one request with one just handed out: so order is kept, and never two of
    /// one sequence go together.
    package mutating func next(of line: Int, where fits: (_ position: Int) -> Bool) -> Int? {
        guard line < lines.count, let head = lines[line].head, fits(head) else { return nil }
        take(head)
        return head
    }

    /// Takes back what was handed out and not attempted: it is the next one of its line again, by its place.
    package mutating func takeBack(_ position: Int) {
        places[position].isTaken = false
        waiting += 1
        lines[places[position].line].waiting += 1
        if let key = places[position].sequence { sequences[key]?.isHandedOut = false }
        makeReady(position)
    }

    /// The newest few of a line, newest first: to see whether they meet the same end as the oldest did. Of a sequence only
    /// its first may be among them.
    package mutating func newest(of line: Int, upTo limit: Int) -> [Int] {
        guard line < lines.count else { return [] }
        let ready = lines[line].ready.elements.filter { !places[$0].isTaken }.sorted(by: >).prefix(max(limit, 0))
        for position in ready { take(position) }
        return Array(ready)
    }

    /// The turn of a sequence is over: with `continues` its next one may be handed out, else all the rest of it is taken
    /// out and returned, in order.
    @discardableResult
    package mutating func settled(_ key: SequenceKey, continues: Bool) -> [Int] {
        guard let sequence = sequences[key] else { return [] }
        if continues {
            if sequence.isHandedOut { advance(key) }
            return []
        }
        sequences[key] = nil
        let rest = (sequence.isHandedOut ? [] : [sequence.first]) + sequence.rest[sequence.next...]
        for position in rest { remove(position) }
        return rest
    }

    // MARK: - Lines

    private mutating func take(_ position: Int) {
        if let key = places[position].sequence { sequences[key]!.isHandedOut = true }
        remove(position)
    }

    private mutating func remove(_ position: Int) {
        let line = places[position].line
        places[position].isTaken = true
        waiting -= 1
        lines[line].waiting -= 1
        if lines[line].head == position { updateHead(of: line) }
    }

    private mutating func makeReady(_ position: Int) {
        let line = places[position].line
        lines[line].ready.insert(position)
        if lines[line].head.map({ position < $0 }) ?? true { updateHead(of: line) }
    }

    private mutating func advance(_ key: SequenceKey) {
        guard let sequence = sequences[key], sequence.next < sequence.rest.count else {
            sequences[key] = nil
            return
        }
        let position = sequence.rest[sequence.next]
        sequences[key]!.next += 1
        sequences[key]!.first = position
        sequences[key]!.isHandedOut = false
        makeReady(position)
    }

    private mutating func updateHead(of line: Int) {
        if let old = lines[line].head { heads.remove(at: indexOfHead(from: old)) }
        while let first = lines[line].ready.first, places[first].isTaken { _ = lines[line].ready.removeFirst() }
        let head = lines[line].ready.first
        lines[line].head = head
        if let head { heads.insert((head, line), at: indexOfHead(from: head)) }
    }

    /// Returns the index of the first head at that position or a later one.
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
