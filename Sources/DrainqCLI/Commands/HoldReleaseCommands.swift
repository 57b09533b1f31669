import Drain
import Policy
import Spool

/// `drainq hold`: operations, or a destination with all that comes to it, wait until a person releases them.
func hold(_ command: ParsedCommand, environment: [String: String]) throws(CommandFailure) -> ExitStatus {
    try failing {
        let queue = try OpenQueue(command, environment)
        if command.choosesDestinationsAlone {
            let reason = command.text(.reason) ?? "held by a person"
            return try tell(queue, .heldByHand(reason: reason), command)
        }
        if command.isGiven(.reason) {
            throw CommandFailure(
                .usage, "'--reason' is for the hold of a destination",
                hint: "name it, and nothing else that chooses: drainq hold --destination D --reason TEXT")
        }
        let action = Action(verb: "hold", states: [.new, .deferred, .held], objection: objectionToHolding) {
            queue, entry, _ in try queue.spool.hold(entry) != nil
        }
        return try action.perform(command, on: queue)
    }
}

/// `drainq release`: ends holds; with `--all` of every destination and every operation.
func release(_ command: ParsedCommand, environment: [String: String]) throws(CommandFailure) -> ExitStatus {
    try failing {
        let queue = try OpenQueue(command, environment)
        if command.choosesDestinationsAlone {
            return try tell(queue, .released, command) { $0.isOpen ? "is not held" : nil }
        }
        if command.flag(.all) {
            let closed = try queue.knownDestinations().states.filter { !$0.value.isOpen }.map(\.key).sorted()
            try record(.released, of: closed, in: queue, command)
        }
        let action = Action(verb: "release", states: [.held], objection: objectionToReleasing) { queue, entry, moment in
            try queue.spool.release(entry, now: moment.now) != nil
        }
        return try action.perform(command, on: queue)
    }
}

/// `drainq pause`: the whole queue, or destinations.
func pause(_ command: ParsedCommand, environment: [String: String]) throws(CommandFailure) -> ExitStatus {
    try setPaused(true, command, environment)
}

/// `drainq resume`: ends what `pause` began, for the queue or for destinations.
func resume(_ command: ParsedCommand, environment: [String: String]) throws(CommandFailure) -> ExitStatus {
    try setPaused(false, command, environment)
}

private func setPaused(
    _ isPaused: Bool, _ command: ParsedCommand, _ environment: [String: String]
) throws(CommandFailure) -> ExitStatus {
    try failing {
        let queue = try OpenQueue(command, environment)
        if command.isGiven(.destination) {
            return try tell(queue, isPaused ? .paused : .resumed, command) { state in
                state.isPaused == isPaused ? (isPaused ? "is paused already" : "is not paused") : nil
            }
        }
        try queue.spool.setPaused(isPaused)
        if !command.flag(.quiet) {
            Messages.notice(
                isPaused ? "paused: no run attempts anything" : "resumed: the next run attempts what is due")
            for (name, state) in try queue.knownDestinations().states.sorted(by: { $0.key < $1.key })
            where !isPaused && state.isPaused {
                Messages.notice("'\(name)' is still paused by itself")
            }
        }
        return .ok
    }
}

// MARK: - Operations

private func objectionToHolding(_ entry: Entry) -> String? {
    switch entry.state {
    case .new, .deferred: entry.name.isHeld ? "it is held already" : nil
    case .claimed, .failed, .quarantine, .delivered: "it is \(entry.state.word)"
    }
}

private func objectionToReleasing(_ entry: Entry) -> String? {
    switch entry.state {
    case .new, .deferred: entry.name.isHeld ? nil : "it is not held by itself"
    case .claimed, .failed, .quarantine, .delivered: "it is \(entry.state.word)"
    }
}

// MARK: - Destinations

extension ParsedCommand {
    /// `--destination` and nothing else that chooses: the destination itself is meant, and not what waits for it now.
    fileprivate var choosesDestinationsAlone: Bool {
        isGiven(.destination) && operands.isEmpty
            && ![OptionName.state, .status, .type, .key, .since, .before, .limit, .all].contains(where: isGiven)
    }
}

/// Tells the destinations that are named; of one that is so already, `isAlready` has the words for it.
private func tell(
    _ queue: OpenQueue, _ event: DestinationEvent, _ command: ParsedCommand,
    isAlready: (DestinationState) -> String? = { _ in nil }
) throws -> ExitStatus {
    let known = try queue.knownDestinations()
    let names = try command.texts(.destination).map { text in
        let destination = try known.destination(named: text)
        // An operation may have brought a URL of its own.
        guard try known.isKnown(destination) || queue.spool.waits(for: destination, known.table) else {
            throw known.unknown(text)
        }
        return destination.name
    }
    for name in names where !command.flag(.quiet) {
        if let words = isAlready(known.states[name] ?? DestinationState()) { Messages.notice("'\(name)' \(words)") }
    }
    try record(event, of: names, in: queue, command)
    return .ok
}

private func record(
    _ event: DestinationEvent, of names: [String], in queue: OpenQueue, _ command: ParsedCommand
) throws {
    if !names.isEmpty, !command.flag(.dryRun) {
        let table = DestinationTable(queue.configuration)
        try LedgerFile(spool: queue.spool).record(
            names.map { ($0, event) }, settings: { table.settings(of: Destination(named: $0)) }, at: .now(),
            durable: true)
    }
    for name in names {
        if command.flag(.json) {
            JSONLine.write(ActionResult(destination: name))
        } else {
            standardOutput.line(escapedForDisplay(name))
        }
    }
}

extension SpoolDirectory {
    /// Whether an operation that may be sent yet goes to the destination.
    fileprivate func waits(for destination: Destination, _ table: DestinationTable) throws -> Bool {
        var found = false
        for state in [QueueState.new, .deferred, .claimed] where !found {
            try forEachEntry(in: state) { found = found || table.destination(of: $0.name).digest == destination.digest }
        }
        return found
    }
}

extension DestinationState {
    /// Whether `release` has nothing to end.
    var isOpen: Bool { hold == nil && coolDownUntil == nil && notBefore == nil }
}
