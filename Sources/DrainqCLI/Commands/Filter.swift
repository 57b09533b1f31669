import Drain
import Policy
import Spool

/// The operations that a command chooses, as its options say. An option that is not given does not restrict.
struct Filter {
    var states: Set<ShownState>
    var types: Set<TypeName>
    var destinations: Set<Digest>
    var keyDigest: Digest?
    var since: Timestamp?
    var before: Timestamp?
    /// The answers to compare with the last attempt, which is in the file and not in its name.
    private var answers: [AnswerPattern]

    /// Makes the filter of `options`. Without `--state` it chooses operations in `states`.
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

    /// Whether the name of the operation passes the filter.
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

    /// Whether the filter must also see the attempts in the file.
    var needsContent: Bool { !answers.isEmpty }

    func includes(_ attempts: [AttemptRecord]) -> Bool {
        if answers.isEmpty { return true }
        guard let last = attempts.last else { return false }
        return answers.contains { $0.matches(last) }
    }

    /// Whether the file passes the filter. Its time may be known; its type, key, destination and answers are not.
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
    /// Returns the operations that pass the filter, oldest first; no files in quarantine, which are no operations.
    func entries(_ filter: Filter, _ known: KnownDestinations) throws -> [Entry] {
        let states = Set(filter.states.flatMap(\.queueStates))
        var found: [Entry] = []
        for state in QueueState.allCases where state != .quarantine && states.contains(state) {
            let others = try spool.forEachEntry(in: state) { if filter.includes($0, known) { found.append($0) } }
            if state == .new, others > 0 {
                Messages.notice(
                    "\(InWords.are(others, "file in 'new'", "files in 'new'")) not read yet: the next run reads them")
            }
        }
        if filter.needsContent { found = try found.filter { try filter.includes(attempts(of: $0)) } }
        // Indices are sorted faster than entries.
        let order = found.indices.sorted {
            let (one, other) = (found[$0].name.createdAt, found[$1].name.createdAt)
            return one != other ? one < other : found[$0].name.id < found[$1].name.id
        }
        return order.map { found[$0] }
    }

    /// Returns the attempts of an operation; none if its file is gone or unreadable.
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
