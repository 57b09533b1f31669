/// The dispatch order: oldest first, but a slot is kept for every destination with operations to send and none in
/// flight, also if its rate lets it send in a moment. Destinations whose attempts only time out cannot take every slot
/// from the others: one slot is for destinations whose last answer was a delivery, destinations with a failure since
/// their last answer get a fifth of the slots, and those without a delivery take turns. Operations of one sequence are
/// handed out one after the other.
///
/// Holds numbers only: an operation is its position, the number of operations appended before it, and each destination
/// has a line, numbered from 0 by the caller.
///
/// An operation behind another of its sequence stands in no line. `next` reads one head for each destination, oldest
/// first, and at most as many heads as there are slots, besides destinations whose limit is used up.
package struct DispatchOrder {
    private struct Place {
        var line: Int
        var sequence: SequenceKey?
        var isTaken = false
    }

    /// The waiting operations of one destination.
    private struct Line {
        /// The positions that may be handed out. A taken position is skipped.
        var ready = Heap<Int>(by: <)
        /// The first of them, as in `heads`; `nil` if there is none.
        var head: Int?
        var waiting = 0
        /// The number of operations that had been handed out when one of its own was handed out last; 0 before.
        var lastTurn = 0
    }

    private struct Sequence {
        /// The first position, which stands in its line or is handed out.
        var first: Int
        var isHandedOut = false
        /// The positions behind the first. Positions before index `next` have been first already.
        var rest: [Int] = []
        var next = 0
    }

    /// The number of operations still to be attempted, including operations behind another of their sequence.
    package private(set) var waiting = 0
    private var handedOut = 0
    private var places: [Place] = []
    private var lines: [Line] = []
    private var sequences: [SequenceKey: Sequence] = [:]
    /// The first position of every line with a position to hand out, oldest first.
    private var heads: [(position: Int, line: Int)] = []

    package init() {}

    /// Returns the number of attempts that failing destinations may have in flight together while another destination
    /// has operations: a fifth of the concurrency, at least one. Each attempt may keep its slot until its time-out.
    package static func failingShare(of concurrency: Int) -> Int { max(1, concurrency / 5) }

    /// Whether a line may be handed out to.
    package enum Turn: Hashable, Sendable {
        /// Up to this number of attempts may be in flight.
        case ready(upTo: Int)
        /// In a moment, by its rate: a slot is kept.
        case soon
        case never
    }

    /// The evidence that attempts to a destination end soon.
    package enum Trust: Int, Comparable, Sendable {
        /// Its last answer was a delivery.
        case delivers
        /// It has not answered yet, or not with a delivery.
        case unknown
        /// It has failed since its last answer.
        case fails

        package static func < (left: Trust, right: Trust) -> Bool { left.rawValue < right.rawValue }
    }

    /// The attempts that lines may still begin, while lines with more trust have operations.
    package struct Room: Hashable, Sendable {
        /// Of failing destinations.
        package var failing: Int
        /// Of all destinations that do not deliver.
        package var unproven: Int

        package init(failing: Int = .max, unproven: Int = .max) {
            self.failing = failing
            self.unproven = unproven
        }

        /// Returns the rest of the room beside attempts in flight. `lastWasUnproven`: whether the last attempt went to
        /// a destination that does not deliver. With one slot, such destinations get every other attempt.
        package init(of concurrency: Int, failing: Int, unproven: Int, lastWasUnproven: Bool) {
            self.failing = DispatchOrder.failingShare(of: concurrency) - failing
            self.unproven = concurrency > 1 ? concurrency - 1 - unproven : lastWasUnproven ? 0 : 1
        }
    }

    /// Appends an operation behind all others.
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

    /// Returns the line of the operation at this position.
    package func line(of position: Int) -> Int { places[position].line }

    /// Whether no operation waits in the line.
    package func isEmpty(_ line: Int) -> Bool { line >= lines.count || lines[line].waiting == 0 }

    // MARK: - Handing out

    /// Hands out the next operation to attempt; `nil` if none may be attempted now.
    ///
    /// `free` is the number of attempts that may still begin. `inFlight` returns the attempts in flight of a line,
    /// `turn` whether it gets an attempt now, and `trust` how its attempts end; `room` limits the attempts of lines
    /// with less trust. A destination with an attempt in flight gets another only while more slots are free than other
    /// destinations wait for their first. Of destinations without an attempt in flight and without a delivery, the one
    /// is next whose last attempt was longest ago.
    package mutating func next(
        free: Int, inFlight: (_ line: Int) -> Int, turn: (_ line: Int) -> Turn = { _ in .ready(upTo: .max) },
        trust: (_ line: Int) -> Trust = { _ in .delivers }, room: Room = Room()
    ) -> Int? {
        guard free > 0 else { return nil }
        var busy: Int?
        var idle: (turn: Int, position: Int)?
        var idleCount = 0
        func isKept(for most: Trust) -> Bool {
            lines.indices.contains { lines[$0].waiting > 0 && trust($0) <= most && turn($0) != .never }
        }
        let keepsFromFailing = room.failing <= 0 && isKept(for: .unknown)
        let keepsFromUnproven = room.unproven <= 0 && isKept(for: .delivers)
        for head in heads {
            let (flying, turn) = (inFlight(head.line), turn(head.line))
            if turn == .never { continue }
            let standing = trust(head.line)
            if standing == .fails && keepsFromFailing || standing != .delivers && keepsFromUnproven { continue }
            switch turn {
            case .ready(let most) where flying < most: break
            case .soon where flying == 0:
                idleCount += 1
                continue
            case .ready, .soon, .never: continue
            }
            if flying > 0 {
                busy = busy ?? head.position
            } else {
                let turn = standing == .delivers ? 0 : lines[head.line].lastTurn
                if idle.map({ (turn, head.position) < $0 }) ?? true { idle = (turn, head.position) }
                idleCount += 1
                if idle!.turn == 0, busy == nil || idleCount >= free { break }
            }
        }
        // A busy head, if found, is older than the idle head, or the idle head has had its turn.
        let next = idleCount < free ? busy ?? idle?.position : idle?.position
        if let next { take(next) }
        return next
    }

    /// Hands out the next operation of a line if it fits into one request with an operation just handed out. Keeps the
    /// order, and never puts two operations of one sequence into a request.
    package mutating func next(of line: Int, where fits: (_ position: Int) -> Bool) -> Int? {
        guard line < lines.count, let head = lines[line].head, fits(head) else { return nil }
        take(head)
        return head
    }

    /// Puts back an operation that was handed out and not attempted, at its place in its line.
    package mutating func putBack(_ position: Int) {
        places[position].isTaken = false
        waiting += 1
        lines[places[position].line].waiting += 1
        if let key = places[position].sequence { sequences[key]?.isHandedOut = false }
        makeReady(position)
    }

    /// Hands out up to `limit` operations from the end of a line, the last first, as samples of whether they fail like
    /// its head. The last is the newest; with `Ordering.newest` the oldest. Of a sequence only the first operation may
    /// be among them.
    package mutating func takeNewest(of line: Int, upTo limit: Int) -> [Int] {
        guard line < lines.count else { return [] }
        let ready = lines[line].ready.elements.filter { !places[$0].isTaken }.sorted(by: >).prefix(max(limit, 0))
        for position in ready { take(position) }
        return Array(ready)
    }

    /// Ends the operation that a sequence has handed out. If the sequence `continues`, its next operation may be handed
    /// out. Otherwise removes its operations that are not handed out, and returns them in order.
    @discardableResult
    package mutating func advance(_ key: SequenceKey, continues: Bool) -> [Int] {
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
        handedOut += 1
        lines[places[position].line].lastTurn = handedOut
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

    /// Returns the index of the first head at or after that position.
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
