/// Decides which operation goes before which, where operations wait for each other or replace each other. It is told every
/// name of the queue, once more if it `needsAnotherListing`, and then answers for each operation that waits. Names of other
/// routes cost nothing.
///
/// The older of two is the one with the earlier `createdAt`, then with the smaller id.
///
/// - A newer operation of a key supersedes the older ones where the route coalesces, whatever keeps the newer one back
///   and also while it is being attempted, so that an older value never overwrites a newer one. There is one exception: a
///   newer operation with a `notBefore` in the future supersedes nothing until then, as the older value is meant to be there.
/// - Where the route orders, nothing overtakes an older operation of its sequence that is deferred or held by itself,
///   unless that one is superseded.
/// - Nothing overtakes one that is out of reach, or is sent beside it.
///
/// Three rules make a race between runs harmless. List `claimed/` before the other directories and again after them, so that
/// what moves meanwhile is seen. Take away what is superseded before the newer one is sent. Where that fails another run is
/// at the older one: leave the newer one to the next run.
///
/// A listing is no snapshot: what another process adds or renames meanwhile may be seen or not. So a second listing asks for
/// the turn of each name with the `mark` that it was noted with, and `isSettled` says whether both have seen the same names
/// of a sequence. Where they have not, a third listing decides (`Confirmation`).
package struct Precedence: Sendable {
    /// The standing of an entry in the queue.
    package enum Standing: Hashable, Sendable {
        case waiting(Eligibility)
        /// Claimed by a run, set aside by this one, or not asked for: it may be sent at any moment, and cannot be taken away.
        case outOfReach
        /// It waits, and the caller does not send it: nothing of its sequence goes before it.
        case passedOver(Eligibility)
    }

    package enum Turn: Hashable, Sendable {
        /// None of its sequence stands before it.
        case free
        /// Older ones of its sequence come first, and all of them are due: it may be chosen with them.
        case inLine
        /// It waits, because an older one of its sequence does.
        case blocked(by: OperationID)
        /// A newer one replaces it: it is to be taken away unsent.
        case superseded(by: OperationID)
    }

    /// The operations of one key that replace each other.
    private struct Group {
        /// The newest age among operations that supersede older ones.
        var newest: Age?
        var oldestOutOfReach: Age?
        /// The sum of the marks that have been noted, less those that have been met again.
        var unmet: UInt64 = 0

        mutating func take(_ age: Age, _ standing: Standing, _ gate: EntryName.Gate, _ mark: UInt64) {
            unmet &+= mark
            if standing.supersedes(gate: gate) { newest = max(newest ?? age, age) }
            if standing == .outOfReach { oldestOutOfReach = min(oldestOutOfReach ?? age, age) }
        }
    }

    /// What is known of one sequence. Whether an operation blocks it is known only when all names have been noted, if a newer
    /// one may supersede it: until then it is `undecided`.
    private struct Line {
        var oldest: Age?
        var oldestBlocker: Age?
        var undecided: [(age: Age, group: SequenceKey, blocks: Bool)] = []
        /// As that of a group.
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
    /// The sequences that were met when so many others were known already.
    private var lone = LoneSequences()
    /// So many sequences and groups are known from the first listing on.
    private let knownAtOnce: Int
    private var isSecondListing = false
    /// Groups whose operations are sent one after the other, although their routes coalesce.
    private let apart: Set<SequenceKey>

    /// Beyond `knownAtOnce` sequences those with one operation take 16 bytes each, and those with more a second listing.
    package init(apart: Set<SequenceKey> = [], knownAtOnce: Int = 10_000) {
        self.apart = apart
        self.knownAtOnce = knownAtOnce
    }

    private func group(of name: some SequencedName, _ route: Route, _ destination: Destination) -> SequenceKey? {
        guard route.coalesce, let group = route.group(of: name, to: destination), !apart.contains(group) else {
            return nil
        }
        return group
    }

    /// Whether all names are to be noted once more before the first question. Asked after each listing.
    package mutating func needsAnotherListing() -> Bool {
        defer { isSecondListing = true }
        return !isSecondListing && lone.hasCrowded
    }

    /// Takes in one name, with its `ListedName.mark`. All are noted before the first question. One that is out of reach may be
    /// met twice.
    package mutating func note(
        _ name: some SequencedName, _ standing: Standing, of route: Route, to destination: Destination, mark: UInt64
    ) {
        guard let sequence = route.sequence(of: name, to: destination) else { return }
        let group = group(of: name, route, destination)
        // Within a key all that is older is superseded or out of reach: the group says everything.
        let isGroup = group == sequence
        if isSecondListing {
            guard lone.isCrowded(sequence) else { return }
        } else if lines.count + groups.count >= knownAtOnce,
            isGroup ? groups[sequence] == nil : lines[sequence] == nil
        {
            return lone.note(sequence, mark: mark)
        }
        let age = Age(name)
        // What is out of reach is not asked for.
        let mark = standing == .outOfReach ? 0 : mark
        if let group {
            groups[group, default: Group()].take(age, standing, name.gate, isGroup ? mark : 0)
            if isGroup { return }
        }
        if let group, standing != .outOfReach {
            lines[sequence, default: Line()].wait(age, group, blocks: standing != .waiting(.due), mark)
        } else {
            lines[sequence, default: Line()].take(age, blocks: standing != .waiting(.due), mark)
        }
    }

    /// Whose turn it is. To be asked for every name that waits: a deferred one may be superseded too, and is then to be
    /// taken away; whether it is free says nothing about its time. The name counts as met again.
    package mutating func turn(
        of name: some SequencedName, of route: Route, to destination: Destination, mark: UInt64 = 0
    ) -> Turn {
        guard let sequence = route.sequence(of: name, to: destination) else { return .free }
        var isOutdated: Turn?
        if let key = group(of: name, route, destination), let index = groups.index(forKey: key) {
            let age = Age(name)
            let group = groups.values[index]
            if let newest = group.newest, age < newest { isOutdated = .superseded(by: newest.id) }
            if key == sequence {
                groups.values[index].unmet = group.unmet &- mark
                if let isOutdated { return isOutdated }
                if let oldest = group.oldestOutOfReach, oldest < age { return .blocked(by: oldest.id) }
                return .free
            }
        }
        guard let index = lines.index(forKey: sequence) else {
            // It is alone in its sequence, or was not noted at all.
            lone.meet(sequence, mark: mark)
            return isOutdated ?? .free
        }
        let age = Age(name)
        lines.values[index].unmet &-= mark
        if let isOutdated { return isOutdated }
        if !lines.values[index].undecided.isEmpty { decide(index) }
        let (oldest, blocker) = (lines.values[index].oldest, lines.values[index].oldestBlocker)
        if let blocker, blocker < age { return .blocked(by: blocker.id) }
        if let oldest, oldest < age { return .inLine }
        return .free
    }

    /// Whether the listing that asked for turns has met the names of a sequence that were noted, and no others.
    package func isSettled(_ sequence: SequenceKey) -> Bool {
        if let line = lines[sequence] { return line.unmet == 0 }
        if let group = groups[sequence] { return group.unmet == 0 }
        return lone.isSettled(sequence)
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
    fileprivate func supersedes(gate: EntryName.Gate) -> Bool {
        switch (self, gate) {
        case (.outOfReach, _), (.waiting(.due), _), (.passedOver(.due), _): true
        case (.waiting, .notBefore), (.passedOver, .notBefore): false
        case (.waiting, _), (.passedOver, _): true
        }
    }
}
