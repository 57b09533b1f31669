/// Whose turn it is where operations wait for each other or replace each other: fed with every name of the queue in a
/// first pass, it then answers for each that waits. Names of other routes cost nothing.
///
/// The older of two is the one with the earlier `createdAt`, then with the smaller id.
///
/// - A newer operation of a key supersedes the older ones where the route coalesces, whatever keeps the newer one back
///   and also while it is being attempted, so that an older value never overwrites a newer one. Only one that itself
///   asked not to be sent before a later time does not yet: until then the older value is meant to be there.
/// - Where the route orders, nothing overtakes an older operation of its sequence that is deferred or held by itself,
///   unless that one is superseded.
/// - Nothing overtakes one that is out of reach, or is sent beside it.
///
/// For a race between runs to be harmless, list `claimed/` before and again after the other directories, so that what
/// moves meanwhile is seen; take away what is superseded before the one that supersedes it is sent, and leave that one
/// for the next run where this fails, for then another run is at it.
package struct Census: Sendable {
    /// What an entry does in the queue.
    package enum Standing: Hashable, Sendable {
        case waiting(Eligibility)
        /// Claimed by a run, or left alone by this one: it may be sent at any moment, and cannot be taken away.
        case outOfReach
    }

    package enum Turn: Hashable, Sendable {
        /// None of its sequence stands before it.
        case free
        /// Older ones of its sequence come first, and all of them are due: it may be chosen with them.
        case inLine
        /// It waits, because an older one of its sequence does.
        case blocked(by: OperationID)
        /// A newer one stands for it: it is to be taken away unsent.
        case superseded(by: OperationID)
    }

    /// What is known of the operations of one key where they replace each other.
    private struct Group {
        /// Of those that supersede what is older.
        var newest: Age?
        var oldestOutOfReach: Age?

        mutating func take(_ age: Age, _ standing: Standing, _ gate: EntryName.Gate) {
            if standing.supersedes(gate: gate) { newest = max(newest ?? age, age) }
            if standing == .outOfReach { oldestOutOfReach = min(oldestOutOfReach ?? age, age) }
        }
    }

    /// What is known of one sequence. Of those that a newer one may supersede that is not known before all are noted.
    private struct Line {
        var oldest: Age?
        var oldestBlocker: Age?
        var undecided: [(age: Age, group: SequenceKey, blocks: Bool)] = []

        mutating func take(_ age: Age, blocks: Bool) {
            oldest = min(oldest ?? age, age)
            if blocks { oldestBlocker = min(oldestBlocker ?? age, age) }
        }
    }

    private var groups: [SequenceKey: Group] = [:]
    private var lines: [SequenceKey: Line] = [:]

    package init() {}

    /// Takes in one name. All are noted before the first question.
    package mutating func note(_ name: EntryName, _ standing: Standing, of route: Route, to destination: Destination) {
        guard let sequence = route.sequence(of: name, to: destination) else { return }
        let age = Age(name)
        let group = route.coalesce ? route.group(of: name, to: destination) : nil
        if let group {
            groups[group, default: Group()].take(age, standing, name.gate)
            // Within a key all that is older is superseded or out of reach: the group says everything.
            if group == sequence { return }
        }
        if let group, standing != .outOfReach {
            lines[sequence, default: Line()].undecided.append((age, group, standing != .waiting(.due)))
        } else {
            lines[sequence, default: Line()].take(age, blocks: standing != .waiting(.due))
        }
    }

    /// Whose turn it is. To be asked for every name that waits: a deferred one may be superseded too, and is then to be
    /// taken away; whether it is free says nothing about its time.
    package mutating func turn(of name: EntryName, of route: Route, to destination: Destination) -> Turn {
        guard let sequence = route.sequence(of: name, to: destination) else { return .free }
        let age = Age(name)
        if route.coalesce, let key = route.group(of: name, to: destination), let group = groups[key] {
            if let newest = group.newest, age < newest { return .superseded(by: newest.id) }
            if key == sequence {
                if let oldest = group.oldestOutOfReach, oldest < age { return .blocked(by: oldest.id) }
                return .free
            }
        }
        decide(sequence)
        guard let line = lines[sequence] else { return .free }
        if let blocker = line.oldestBlocker, blocker < age { return .blocked(by: blocker.id) }
        if let oldest = line.oldest, oldest < age { return .inLine }
        return .free
    }

    private mutating func decide(_ sequence: SequenceKey) {
        guard var line = lines[sequence], !line.undecided.isEmpty else { return }
        for (age, group, blocks) in line.undecided where groups[group]?.newest.map({ $0 <= age }) ?? true {
            line.take(age, blocks: blocks)
        }
        line.undecided = []
        lines[sequence] = line
    }
}

extension Census.Standing {
    fileprivate func supersedes(gate: EntryName.Gate) -> Bool {
        switch (self, gate) {
        case (.outOfReach, _), (.waiting(.due), _): true
        case (.waiting(.deferred), .notBefore), (.waiting(.held), .notBefore): false
        case (.waiting(.deferred), _), (.waiting(.held), _): true
        }
    }
}

/// Orders entries, the older before the younger.
struct Age: Hashable, Comparable, Sendable {
    let createdAt: Timestamp
    let id: OperationID

    init(_ name: EntryName) {
        createdAt = name.createdAt
        id = name.id
    }

    static func < (left: Age, right: Age) -> Bool {
        left.createdAt != right.createdAt ? left.createdAt < right.createdAt : left.id < right.id
    }
}
