/// Decides which operation goes before which, if operations wait for each other or replace each other. Takes in every
/// name of the queue, twice if `beginSecondListing` says so, then answers for each waiting operation. Names of routes
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
///   (`Eligibility.mayBeMerged`): sent later, they would undo newer changes. In a line of several keys or types an
///   operation carries only changes that stand directly before it: nothing that is sent overtakes a change.
/// - If the route has a `debounce`, the newest operation of a key waits for newer ones, also for a late one, and its
///   older ones with it. It keeps back its sequence meanwhile.
///
/// The callers keep three rules, which make a race between runs harmless. List `claimed/` before the other directories
/// and again after them, to see names that move meanwhile. Remove superseded operations before the newer operation is
/// sent. If the removal fails, another run has the older operation: leave the newer operation to the next run.
///
/// The caller takes in the names of one moment: it keeps other processes from changing names meanwhile.
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
        /// The creation of the newest value, also of a late one.
        var latest: Timestamp?

        mutating func take(_ age: Age, supersedes: Bool, blocks: Bool, isValue: Bool) {
            oldest = min(oldest ?? age, age)
            if isValue { latest = max(latest ?? age.createdAt, age.createdAt) }
            if supersedes { newest = max(newest ?? age, age) }
            if blocks { oldestBlocker = min(oldestBlocker ?? age, age) }
        }
    }

    /// The state of one sequence of several groups. If a newer operation may supersede another, whether the older
    /// operation blocks is known only when all names are noted: until then it is `undecided`.
    private struct Line {
        var oldest: Age?
        var oldestBlocker: Age?
        var undecided: [Member] = []
        /// The newer operation that carries the changes of an older one.
        var carriers: [Age: Age] = [:]
        /// The operations that carry changes of others.
        var carrying: Set<Age> = []

        mutating func take(_ age: Age, blocks: Bool) {
            oldest = min(oldest ?? age, age)
            if blocks { oldestBlocker = min(oldestBlocker ?? age, age) }
        }
    }

    /// An operation of a line.
    private struct Member {
        var age: Age
        /// `nil` for an operation that neither replaces others nor carries their changes.
        var group: SequenceKey?
        var isMerged: Bool
        var mayGiveWay: Bool
        var supersedes: Bool
        var blocks: Bool
        var debounce: Debounce?
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
    /// Whether a line may have operations whose changes others carry: then what stands between them counts.
    private let mergesInLines: Bool
    /// The time of the question; `nil` if no value waits for newer ones.
    private let time: Timestamp?

    /// Beyond `knownAtOnce` sequences, one of one operation takes 16 bytes, and a longer one a second listing.
    package init(
        apart: Set<SequenceKey> = [], mergesInLines: Bool = true, at now: Timestamp? = nil, knownAtOnce: Int = 10_000
    ) {
        (self.apart, self.mergesInLines) = (apart, mergesInLines)
        time = now
        self.knownAtOnce = knownAtOnce
    }

    private func group(of name: some SequencedName, _ order: RouteOrder, _ destination: Destination) -> SequenceKey? {
        guard order.coalesces, let group = order.group(of: name, to: destination), !apart.contains(group) else {
            return nil
        }
        return group
    }

    /// Begins the second listing, in which all names are noted once more before the first question. Returns false if
    /// none is needed, or was made. Called after each listing.
    package mutating func beginSecondListing() -> Bool {
        defer { isSecondListing = true }
        return !isSecondListing && lone.hasCrowded
    }

    /// Takes in a name, with its `ListedName.mark`. Note all before the first question; a name may come twice.
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
        let mayGiveWay = standing.mayGiveWay(gate: name.gate, isMerged: order.mergesPayloads)
        if let group {
            groups[group, default: Group()].take(
                age, supersedes: standing.supersedes(gate: name.gate), blocks: !mayGiveWay,
                isValue: standing.isValue(gate: name.gate))
            if isGroup { return }
        }
        let blocks = standing != .waiting(.due)
        if mergesInLines || group != nil && mayGiveWay {
            lines[sequence, default: Line()].undecided.append(
                Member(
                    age: age, group: group, isMerged: group != nil && order.mergesPayloads, mayGiveWay: mayGiveWay,
                    supersedes: standing.supersedes(gate: name.gate), blocks: blocks, debounce: order.debounce))
        } else {
            lines[sequence, default: Line()].take(age, blocks: blocks)
        }
    }

    /// Returns the turn of a waiting name. Ask for every waiting name: a deferred operation may be superseded too.
    /// `free` says nothing about the due time.
    package mutating func position(
        of name: some SequencedName, of order: RouteOrder, to destination: Destination
    ) -> Position {
        guard let sequence = order.sequence(of: name, to: destination) else { return .free }
        var superseded: Position?
        if let key = group(of: name, order, destination), let group = groups[key] {
            let age = Age(name)
            let isCarriedInLine = order.mergesPayloads && key != sequence
            if !isCarriedInLine, let newest = group.newest, age < newest { superseded = .superseded(by: newest.id) }
            if key == sequence {
                if let superseded { return superseded }
                if let oldest = group.oldestBlocker, oldest < age { return .blocked(by: oldest.id) }
                return .free
            }
        }
        if let superseded { return superseded }
        // Without a line the name is alone in its sequence.
        guard let index = lines.index(forKey: sequence) else { return .free }
        let age = Age(name)
        decide(index)
        if let carrier = lines.values[index].carriers[age] { return .superseded(by: carrier.id) }
        let (oldest, blocker) = (lines.values[index].oldest, lines.values[index].oldestBlocker)
        if let blocker, blocker < age { return .blocked(by: blocker.id) }
        if let oldest, oldest < age { return .inLine }
        return .free
    }

    /// Whether an operation is the newest of its key, and supersedes older ones or carries their changes.
    package mutating func supersedesOthers(
        _ name: some SequencedName, of order: RouteOrder, to destination: Destination
    ) -> Bool {
        guard let key = group(of: name, order, destination), let group = groups[key], let oldest = group.oldest else {
            return false
        }
        if order.mergesPayloads, let sequence = order.sequence(of: name, to: destination), sequence != key {
            guard let index = lines.index(forKey: sequence) else { return false }
            decide(index)
            return lines.values[index].carrying.contains(Age(name))
        }
        return oldest < Age(name) && group.newest == Age(name)
    }

    /// Returns the end of the wait of a value for newer ones of its key; `nil` if it does not wait, or no longer.
    package func debounceEnd(
        of name: some SequencedName, of order: RouteOrder, to destination: Destination
    ) -> Timestamp? {
        guard let debounce = order.debounce, order.group(of: name, to: destination) != nil else { return nil }
        return debounceEnd(of: name.createdAt, group(of: name, order, destination), debounce)
    }

    private func debounceEnd(of createdAt: Timestamp, _ key: SequenceKey?, _ debounce: Debounce?) -> Timestamp? {
        guard let debounce, let time else { return nil }
        // Without a group the name is alone in it.
        let group = key.flatMap { groups[$0] }
        return debounce.end(oldest: group?.oldest?.createdAt ?? createdAt, newest: group?.latest ?? createdAt, at: time)
    }

    /// Decides which operations of a line are sent by themselves, the newest first.
    private mutating func decide(_ index: Dictionary<SequenceKey, Line>.Index) {
        if lines.values[index].undecided.isEmpty { return }
        var members: [Member] = []
        swap(&members, &lines.values[index].undecided)
        if mergesInLines { members.sort { $1.age < $0.age } }
        // The group whose operations stand behind the next member without anything between them, and its carrier.
        var behind: (group: SequenceKey, carrier: Age?)?
        for member in members {
            let isReplaced = member.mayGiveWay && !member.isMerged && isReplaced(member)
            if isReplaced { continue }
            if let group = member.group, member.isMerged {
                if member.mayGiveWay, let behind, behind.group == group, let carrier = behind.carrier,
                    carrier != member.age
                {
                    lines.values[index].carriers[member.age] = carrier
                    lines.values[index].carrying.insert(carrier)
                    continue
                }
                behind = (group, member.supersedes ? member.age : nil)
            } else {
                behind = nil
            }
            let isDebounced = debounceEnd(of: member.age.createdAt, member.group, member.debounce) != nil
            lines.values[index].take(
                member.age, blocks: member.blocks || member.group != nil && member.mayGiveWay && isDebounced)
        }
    }

    /// Whether a newer value of its group replaces a member.
    private func isReplaced(_ member: Member) -> Bool {
        member.group.flatMap { groups[$0]?.newest }.map { member.age < $0 } ?? false
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

    /// Whether this operation is a value of its key, and not one that is to be sent later.
    fileprivate func isValue(gate: EntryName.Gate) -> Bool {
        if case .late(.due) = self { return true }
        return supersedes(gate: gate)
    }

    fileprivate func supersedes(gate: EntryName.Gate) -> Bool {
        switch self {
        case .late: false
        case .untouchable: true
        case .waiting(let eligibility), .passedOver(let eligibility): eligibility.replacesOlder(gate: gate)
        }
    }
}
