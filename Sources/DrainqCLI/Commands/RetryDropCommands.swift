import Policy
import Spool

/// `drainq retry`: back to the queue with no attempts counted, due at once.
func retry(_ command: ParsedCommand, environment: [String: String]) throws(CommandFailure) -> ExitStatus {
    var action = Action(verb: "retry", states: [.failed], objection: objectionToMoving) { queue, entry, now in
        try queue.spool.retry(entry, now: now) != nil
    }
    action.onQuarantined = { queue, item, now in try queue.spool.retry(item, now: now) }
    return try action.perform(command, environment)
}

/// `drainq drop`: gone for good, by a person's word.
func drop(_ command: ParsedCommand, environment: [String: String]) throws(CommandFailure) -> ExitStatus {
    var action = Action(verb: "drop", states: [.new, .deferred, .held, .failed], objection: objectionToMoving) {
        queue, entry, _ in try queue.spool.drop(entry)
    }
    action.onQuarantined = { queue, item, _ in try queue.spool.drop(item) }
    return try action.perform(command, environment)
}

private func objectionToMoving(_ entry: Entry) -> String? {
    entry.state == .claimed || entry.state == .delivered ? "it is \(entry.state.word)" : nil
}

/// What a command does to each operation that is named by id, or that filters let through; ids of those it was done to
/// are printed.
struct Action {
    /// As in `cannot retry`.
    var verb: String
    /// Where filters look unless `--state` says otherwise.
    var states: Set<ShownState>
    /// Why it cannot be done to this one; `nil` when it can. Filters pass over what it objects to.
    var objection: (Entry) -> String?
    /// False where a run was faster.
    var body: (OpenQueue, Entry, Timestamp) throws -> Bool
    /// What is done to a file in quarantine, where `--state quarantined` asks for it; `nil` where that makes no sense.
    var onQuarantined: ((OpenQueue, QuarantineItem, Timestamp) throws -> Bool)?

    init(
        verb: String, states: Set<ShownState>, objection: @escaping (Entry) -> String?,
        body: @escaping (OpenQueue, Entry, Timestamp) throws -> Bool
    ) {
        self.verb = verb
        self.states = states
        self.objection = objection
        self.body = body
    }

    func perform(_ command: ParsedCommand, _ environment: [String: String]) throws(CommandFailure) -> ExitStatus {
        try failing { try perform(command, on: try OpenQueue(command, environment)) }
    }

    func perform(_ command: ParsedCommand, on queue: OpenQueue) throws -> ExitStatus {
        let now = Timestamp.now()
        var entries: [Entry] = []
        var status = ExitStatus.ok
        if command.operands.isEmpty {
            let known = try queue.knownDestinations()
            let filter = try Filter(command, states: states, of: known, now: now)
            entries = try queue.entries(filter, known)
            if !command.isGiven(.state) { entries.removeAll { objection($0) != nil } }
            status = try performOnQuarantined(filter, command, queue, now)
        } else {
            let ids = try givenIDs(command)
            let found = try queue.entries(ids: ids)
            for id in ids {
                if let named = found[id] {
                    entries += named
                } else {
                    status = .failed
                    Messages.error("cannot \(verb) '\(id)': no such operation in the queue", hint: "drainq list")
                }
            }
        }
        for entry in entries {
            let id = entry.name.id
            if let reason = objection(entry) {
                status = .failed
                Messages.error("cannot \(verb) '\(id)': \(reason)", hint: "drainq show \(id)")
            } else if try command.flag(.dryRun) || body(queue, entry, now) {
                answer(id, entry, command)
            } else {
                status = .failed
                Messages.error("cannot \(verb) '\(id)': a run has just taken it", hint: "drainq show \(id)")
            }
        }
        return status
    }

    private func performOnQuarantined(
        _ filter: Filter, _ command: ParsedCommand, _ queue: OpenQueue, _ now: Timestamp
    ) throws -> ExitStatus {
        guard filter.states.contains(.quarantined) else { return .ok }
        guard let onQuarantined else {
            throw CommandFailure(.usage, "cannot \(verb) what is in quarantine", hint: "no run attempts it anyway")
        }
        var status = ExitStatus.ok
        for item in try queue.spool.quarantined() where filter.includes(item) {
            let path = "quarantine/\(item.fileName)"
            if try command.flag(.dryRun) || onQuarantined(queue, item, now) {
                if command.flag(.json) {
                    JSONLine.write(["path": path, "state": ShownState.quarantined.rawValue])
                } else {
                    standardOutput.line(escapedForDisplay(path))
                }
            } else {
                status = .failed
                Messages.error("cannot \(verb) '\(path)': it is gone")
            }
        }
        return status
    }

    private func answer(_ id: OperationID, _ entry: Entry, _ command: ParsedCommand) {
        if command.flag(.json) {
            JSONLine.write(["id": id.description, "state": entry.state.word])
        } else {
            standardOutput.line(id.description)
        }
    }
}
