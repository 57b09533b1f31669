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

    /// `states` are those the command looks at where `--state` is not given.
    init(
        _ command: ParsedCommand, states: Set<ShownState>, of known: KnownDestinations, now: Timestamp
    ) throws(CommandFailure) {
        let named = Set(command.texts(.state).compactMap(ShownState.init(rawValue:)))
        self.states = named.isEmpty ? states : named
        types = Set(command.typeNames(.type))
        destinations = []
        for text in command.texts(.destination) { destinations.insert(try known.destination(named: text).digest) }
        keyDigest = command.text(.key).map { Digest(of: $0) }
        since = command.time(.since, now: now)
        before = command.time(.before, now: now)
    }

    func includes(_ entry: Entry, _ known: KnownDestinations) -> Bool {
        let name = entry.name
        if !types.isEmpty, !types.contains(name.type) { return false }
        if let keyDigest, name.keyDigest != keyDigest { return false }
        if let since, name.createdAt < since { return false }
        if let before, name.createdAt >= before { return false }
        let destination = known.table.destination(of: name)
        if !destinations.isEmpty, !destinations.contains(destination.digest) { return false }
        return states.contains(ShownState(of: entry, isDestinationHeld: known.isHeld(destination)))
    }

    /// A file in quarantine has a time at most: of types, keys and destinations nothing is known of it.
    func includes(_ item: QuarantineItem) -> Bool {
        if !states.contains(.quarantined) || !types.isEmpty || !destinations.isEmpty || keyDigest != nil {
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
        return found.sorted { ($0.name.createdAt, $0.name.id) < ($1.name.createdAt, $1.name.id) }
    }

    /// Every entry of each of these ids, wherever it is.
    func entries(ids: [OperationID]) throws -> [OperationID: [Entry]] {
        let wanted = Set(ids)
        var found: [OperationID: [Entry]] = [:]
        for state in QueueState.allCases where state != .quarantine {
            try spool.forEachEntry(in: state) {
                if wanted.contains($0.name.id) { found[$0.name.id, default: []].append($0) }
            }
        }
        return found
    }

    func view(_ entry: Entry, _ known: KnownDestinations) -> EntryView {
        let destination = known.table.destination(of: entry.name)
        return EntryView(
            entry, destination: destination.name, route: configuration.route(of: entry.name.type),
            isDestinationHeld: known.isHeld(destination))
    }
}

/// The ids a command is given: operands, or one a line from standard input for `-` (text, or NDJSON objects with an `id`).
func givenIDs(_ command: ParsedCommand) throws -> [OperationID] {
    try command.operands.flatMap { operand in
        if operand != "-" { return [try operationID(operand)] }
        var ids: [OperationID] = []
        while let line = readLine() {
            let text = line.trimmed
            if text.isEmpty { continue }
            ids.append(try operationID(text.hasPrefix("{") ? idOfObject(text) : text.unquoted))
        }
        return ids
    }
}

private func operationID(_ text: String) throws -> OperationID {
    guard let id = OperationID(text) else {
        throw CommandFailure(.usage, "'\(text)' is not an id", hint: "an id is 1 to 64 of A-Z a-z 0-9 _ -")
    }
    return id
}

private func idOfObject(_ text: String) throws -> String {
    let bytes = Array(text.utf8)
    let members = try? JSONScanner.members(of: bytes, in: 0..<bytes.count)
    guard let member = members?.first(where: { $0.name == "id" }) else {
        throw CommandFailure(.dataInvalid, "a line of standard input is no object with an 'id'")
    }
    return String(decoding: bytes[member.value], as: UTF8.self).unquoted
}

extension String {
    fileprivate var trimmed: String {
        let kept = drop { $0.isWhitespace }
        return String(kept[..<(kept.lastIndex { !$0.isWhitespace }.map(kept.index(after:)) ?? kept.startIndex)])
    }

    /// Without the quotes that `jq` leaves around a string.
    fileprivate var unquoted: String {
        utf8.count >= 2 && hasPrefix("\"") && hasSuffix("\"") ? String(dropFirst().dropLast()) : self
    }
}
