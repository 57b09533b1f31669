/// Decides which operation goes before which, if operations wait for each other or replace each other. Takes in every
/// name of the queue, twice if it `needsAnotherListing`, then answers for each waiting operation. Names of routes
/// without an order cost nothing.
///
/// The older of two operations has the earlier `createdAt`, or at the same time the smaller id.
///
/// - If the route coalesces, a newer operation of a key supersedes the older ones, even while it is deferred, held or
///   in flight, so an older value never overwrites a newer one. Exception: a waiting operation that has a
///   `notBefore`, and is not due or is held, supersedes nothing. The older value is meant to be sent first.
/// - If the route orders, no operation overtakes an older one of its sequence that is deferred or held by itself,
///   unless the older operation is superseded.
/// - No operation overtakes an `untouchable` older operation (claimed, set aside or not asked for), and none is sent
///   while such an operation may be in flight.
/// - A `late` operation, entered after the cut of the pass, is not sent and replaces nothing. No newer operation of its
///   sequence overtakes it.
/// - If the route merges, no operation overtakes an older operation of its key whose changes it may not carry
///   (`Eligibility.mayBeMerged`): sent later, they would undo newer changes.
///
/// The callers keep three rules, which make a race between runs harmless. List `claimed/` before the other directories
/// and again after them, to see names that move meanwhile. Remove superseded operations before the newer operation is
/// sent. If the removal fails, another run has the older operation: leave the newer operation to the next run.
///
/// A listing is no snapshot: it may miss a name that another process adds or renames meanwhile. A second listing
/// therefore asks for the turn of each name with its noted `mark`, and `isConfirmed` says whether both listings saw the
/// same names of a sequence. If they did not, a third listing decides (`Confirmation`).
package struct Precedence: Sendable {
    /// The standing of an entry in the queue.
    package enum Standing: Hashable, Sendable {
        case waiting(Eligibility)
        /// Claimed by a run, set aside by this run, or not asked for: may be sent at any moment, cannot be removed.
        case untouchable
        /// The operation waits, and the caller does not send it: no newer operation of its sequence goes first.
        case passedOver(Eligibility)
        /// The operation waits and may have entered after the cut. The caller sends neither it nor a newer operation of
        /// its sequence. The operation replaces no older operation, so a stream of newer values does not keep back the
        /// values of the cut.
        case late(Eligibility)
    }

    package enum Position: Hashable, Sendable {
        /// No operation of its sequence stands before it.
        case free
        /// Older operations of its sequence come first, and all of them are due: the operation may be chosen with them.
        case inLine
        /// Waits for an older operation of its sequence, which is not due or is out of reach.
        case blocked(by: OperationID)
        /// Superseded by a newer operation, and not sent by itself.
        case superseded(by: OperationID)
    }

    /// The operations of one key that replace each other.
    private struct Group {
        /// The newest age among operations that supersede older ones.
        var newest: Age?
        var oldest: Age?
        /// The oldest that a newer operation does not replace.
        var oldestBlocker: Age?
        /// The sum of the marks noted, less the marks met again.
        var unmet: UInt64 = 0

        mutating func take(_ age: Age, supersedes: Bool, blocks: Bool, _ mark: UInt64) {
            unmet &+= mark
            oldest = min(oldest ?? age, age)
            if supersedes { newest = max(newest ?? age, age) }
            if blocks { oldestBlocker = min(oldestBlocker ?? age, age) }
        }
    }

    /// The state of one sequence. If a newer operation may supersede another, whether the older operation blocks is
    /// known only when all names are noted: until then it is `undecided`.
    private struct Line {
        var oldest: Age?
        var oldestBlocker: Age?
        var undecided: [(age: Age, group: SequenceKey, blocks: Bool)] = []
        /// As in `Group`.
        var unmet: UInt64 = 0

        mutating func wait(_ age: Age, _ group: SequenceKey, blocks: Bool, _ mark: UInt64) {
            unmet &+= mark
            undecided.append((age, group, blocks))
        }

        mutating func take(_ age: Age, blocks: Bool, _ mark: UInt64) {
            unmet &+= mark
            oldest = min(oldest ?? age, age)
            if blocks { oldestBlocker = min(oldestBlocker ?? age, age) }
        }
    }

    private var groups: [SequenceKey: Group] = [:]
    private var lines: [SequenceKey: Line] = [:]
    /// The sequences first met after `knownAtOnce` others.
    private var lone = SingleSequences()
    /// The number of sequences and groups that the first listing notes in full.
    private let knownAtOnce: Int
    private var isSecondListing = false
    /// The groups whose operations are sent one after the other, although their routes coalesce.
    private let apart: Set<SequenceKey>

    /// Beyond `knownAtOnce` sequences, a sequence of one operation takes 16 bytes, and a longer sequence needs a second
    /// listing.
    package init(apart: Set<SequenceKey> = [], knownAtOnce: Int = 10_000) {
        self.apart = apart
        self.knownAtOnce = knownAtOnce
    }

    private func group(of name: some SequencedName, _ order: RouteOrder, _ destination: Destination) -> SequenceKey? {
        guard order.coalesces, let group = order.group(of: name, to: destination), !apart.contains(group) else {
            return nil
        }
        return group
    }

    /// Whether all names must be noted once more before the first question. Ask after each listing.
    package mutating func needsAnotherListing() -> Bool {
        defer { isSecondListing = true }
        return !isSecondListing && lone.hasCrowded
    }

    /// Takes in a name, with its `ListedName.mark`. Note all names before the first question. A name out of reach may
    /// be noted twice.
    package mutating func note(
        _ name: some SequencedName, _ standing: Standing, of order: RouteOrder, to destination: Destination,
        mark: UInt64
    ) {
        guard let sequence = order.sequence(of: name, to: destination) else { return }
        let group = group(of: name, order, destination)
        // Within a key, all older operations are superseded or out of reach: the group alone is enough.
        let isGroup = group == sequence
        if isSecondListing {
            guard lone.isCrowded(sequence) else { return }
        } else if lines.count + groups.count >= knownAtOnce,
            isGroup ? groups[sequence] == nil : lines[sequence] == nil
        {
            return lone.note(sequence, mark: mark)
        }
        let age = Age(name)
        // No turn is asked for a name out of reach.
        let mark = standing == .untouchable ? 0 : mark
        let mayGiveWay = standing.mayGiveWay(gate: name.gate, isMerged: order.mergesPayloads)
        if let group {
            groups[group, default: Group()].take(
                age, supersedes: standing.supersedes(gate: name.gate), blocks: !mayGiveWay, isGroup ? mark : 0)
            if isGroup { return }
        }
        if let group, mayGiveWay {
            lines[sequence, default: Line()].wait(age, group, blocks: standing != .waiting(.due), mark)
        } else {
            lines[sequence, default: Line()].take(age, blocks: standing != .waiting(.due), mark)
        }
    }

    /// Returns the turn of a waiting name, and counts the name as met again. Ask for every waiting name: a deferred
    /// operation may be superseded too. `free` says nothing about the due time.
    package mutating func position(
        of name: some SequencedName, of order: RouteOrder, to destination: Destination, mark: UInt64 = 0
    ) -> Position {
        guard let sequence = order.sequence(of: name, to: destination) else { return .free }
        var superseded: Position?
        if let key = group(of: name, order, destination), let index = groups.index(forKey: key) {
            let age = Age(name)
            let group = groups.values[index]
            if let newest = group.newest, age < newest { superseded = .superseded(by: newest.id) }
            if key == sequence {
                groups.values[index].unmet = group.unmet &- mark
                if let superseded { return superseded }
                if let oldest = group.oldestBlocker, oldest < age { return .blocked(by: oldest.id) }
                return .free
            }
        }
        guard let index = lines.index(forKey: sequence) else {
            // The name is alone in its sequence, or was not noted at all.
            lone.meet(sequence, mark: mark)
            return superseded ?? .free
        }
        let age = Age(name)
        lines.values[index].unmet &-= mark
        if let superseded { return superseded }
        if !lines.values[index].undecided.isEmpty { decide(index) }
        let (oldest, blocker) = (lines.values[index].oldest, lines.values[index].oldestBlocker)
        if let blocker, blocker < age { return .blocked(by: blocker.id) }
        if let oldest, oldest < age { return .inLine }
        return .free
    }

    /// Whether an operation is the newest of its key, and supersedes older ones or carries their changes.
    package func supersedesOthers(
        _ name: some SequencedName, of order: RouteOrder, to destination: Destination
    ) -> Bool {
        guard let key = group(of: name, order, destination), let group = groups[key], let oldest = group.oldest else {
            return false
        }
        return oldest < Age(name) && group.newest == Age(name)
    }

    /// Whether the second listing of a sequence had the same names as the first.
    package func isConfirmed(_ sequence: SequenceKey) -> Bool {
        if let line = lines[sequence] { return line.unmet == 0 }
        if let group = groups[sequence] { return group.unmet == 0 }
        return lone.isConfirmed(sequence)
    }

    private mutating func decide(_ index: Dictionary<SequenceKey, Line>.Index) {
        for (age, group, blocks) in lines.values[index].undecided
        where groups[group]?.newest.map({ $0 <= age }) ?? true {
            lines.values[index].take(age, blocks: blocks, 0)
        }
        lines.values[index].undecided = []
    }
}

extension Precedence.Standing {
    /// Whether a newer operation of the key may replace this operation, or carry its changes.
    fileprivate func mayGiveWay(gate: EntryName.Gate, isMerged: Bool) -> Bool {
        switch self {
        case .untouchable: false
        case .waiting(let eligibility), .passedOver(let eligibility), .late(let eligibility):
            !isMerged || eligibility.mayBeMerged(gate: gate)
        }
    }

    fileprivate func supersedes(gate: EntryName.Gate) -> Bool {
        switch (self, gate) {
        case (.late, _): false
        case (.untouchable, _), (.waiting(.due), _), (.passedOver(.due), _): true
        case (.waiting, .notBefore), (.passedOver, .notBefore): false
        case (.waiting, _), (.passedOver, _): true
        }
    }
}
