import Policy
import Spool

/// `drainq retry`: back to the queue with no attempts counted, due at once.
func retry(_ command: ParsedCommand, environment: [String: String]) throws(CommandFailure) -> ExitStatus {
    try act(command, environment, on: [.failed], verb: "retry") { queue, entry, now in
        try queue.spool.retry(entry, now: now) != nil
    }
}

/// `drainq drop`: gone for good, by a person's word.
func drop(_ command: ParsedCommand, environment: [String: String]) throws(CommandFailure) -> ExitStatus {
    try act(command, environment, on: [.new, .deferred, .failed], verb: "drop") { queue, entry, _ in
        try queue.spool.drop(entry)
    }
}

/// Does it to each operation named by id, or to all the filters let through; prints the ids it was done to.
private func act(
    _ command: ParsedCommand, _ environment: [String: String], on states: Set<QueueState>, verb: String,
    _ action: (OpenQueue, Entry, Timestamp) throws -> Bool
) throws(CommandFailure) -> ExitStatus {
    try failing {
        let queue = try OpenQueue(command, environment)
        let now = Timestamp.now()
        var entries: [Entry] = []
        var status = ExitStatus.ok
        if command.operands.isEmpty {
            entries = try queue.entries(Filter(command, states: states, now: now))
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
            if command.flag(.dryRun) {
                answer(id, entry, command)
            } else if entry.state == .claimed || entry.state == .delivered {
                status = .failed
                Messages.error("cannot \(verb) '\(id)': it is \(entry.state.word)")
            } else if try action(queue, entry, now) {
                answer(id, entry, command)
            } else {
                status = .failed
                Messages.error("cannot \(verb) '\(id)': a run has just taken it", hint: "drainq show \(id)")
            }
        }
        return status
    }
}

private func answer(_ id: OperationID, _ entry: Entry, _ command: ParsedCommand) {
    if command.flag(.json) {
        JSONLine.write(["id": id.description, "state": entry.state.word])
    } else {
        standardOutput.line(id.description)
    }
}
