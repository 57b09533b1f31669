import Drain
import Policy
import Spool

/// Which operations a command is about, as its options say; what is not named does not restrict.
struct Filter {
    var states: Set<ShownState>
    var types: Set<TypeName>
    var destinations: Set<Digest>
    var keyDigest: Digest?
    var since: Timestamp?
    var before: Timestamp?
    /// The answers of the last attempt; only the file has it, not the name.
    private var answers: [AnswerPattern]

    /// `states` are those the command looks at where `--state` is not given.
    init(
        _ options: FilterOptions, states: Set<ShownState>, of known: KnownDestinations, now: Timestamp
    ) throws(CommandFailure) {
        self.states = options.states.isEmpty ? states : Set(options.states)
        types = Set(options.types)
        destinations = []
        for text in options.destinations { destinations.insert(try known.destination(named: text).digest) }
        keyDigest = options.key.map { Digest(of: $0) }
        since = options.since?.timestamp(now: now)
        before = options.before?.timestamp(now: now)
        answers = options.answers
    }

    /// Whether its name is one of those that are asked for.
    func includes(_ entry: Entry, _ known: KnownDestinations) -> Bool {
        let name = entry.name
        if !types.isEmpty, !types.contains(name.type) { return false }
        if let keyDigest, name.keyDigest != keyDigest { return false }
        if let since, name.createdAt < since { return false }
        if let before, name.createdAt >= before { return false }
        let destination = known.table.destination(of: name)
        if !destinations.isEmpty, !destinations.contains(destination.digest) { return false }
        return states.contains(ShownState(of: entry, isHeldWithOthers: known.holds(name)))
    }

    /// Whether files have to be read, and `includes` asked of what is in them.
    var needsContent: Bool { !answers.isEmpty }

    func includes(_ attempts: [AttemptRecord]) -> Bool {
        if answers.isEmpty { return true }
        guard let last = attempts.last else { return false }
        return answers.contains { $0.matches(last) }
    }

    /// A file in quarantine has a time at most: of types, keys, destinations and answers nothing is known of it.
    func includes(_ item: QuarantineItem) -> Bool {
        if !states.contains(.quarantined) || !types.isEmpty || !destinations.isEmpty || keyDigest != nil || needsContent
        {
            return false
        }
        guard let time = item.name?.createdAt ?? item.at else { return since == nil && before == nil }
        return time >= since ?? time && before.map { time < $0 } ?? true
    }
}

extension OpenQueue {
    /// The entries the filter lets through, oldest first. Quarantine is not among them: it holds files, not operations.
    func entries(_ filter: Filter, _ known: KnownDestinations) throws -> [Entry] {
        let states = Set(filter.states.flatMap(\.queueStates))
        var found: [Entry] = []
        for state in QueueState.allCases where state != .quarantine && states.contains(state) {
            try spool.forEachEntry(in: state) { if filter.includes($0, known) { found.append($0) } }
        }
        if filter.needsContent { found = try found.filter { try filter.includes(attempts(of: $0)) } }
        // Numbers are sorted faster than what they stand for.
        let order = found.indices.sorted {
            let (one, other) = (found[$0].name.createdAt, found[$1].name.createdAt)
            return one != other ? one < other : found[$0].name.id < found[$1].name.id
        }
        return order.map { found[$0] }
    }

    /// None where it is no longer there, or cannot be read.
    func attempts(of entry: Entry) throws -> [AttemptRecord] {
        guard case .operation(let stored) = try spool.read(entry) else { return [] }
        return stored.operation.attempts
    }

    func view(_ entry: Entry, _ known: KnownDestinations) -> EntryView {
        let destination = known.table.destination(of: entry.name)
        return EntryView(
            entry, destination: destination.name, route: configuration.route(of: entry.name.type),
            isHeldWithOthers: known.holds(entry.name))
    }
}
