import Drain
import Policy
import Spool

/// The operations that `drainq run ID…` names: those that a run can send, and reports about the others.
struct NamedOperations {
    private let queue: OpenQueue
    /// The unfinished operations, in the order of the command line.
    let ids: [OperationID]
    private let named: Set<OperationID>
    /// A status for each name that no run can send.
    private(set) var statuses: [ExitStatus] = []
    /// Operations whose result the run has reported, or that a dry run has printed.
    private var reported: Set<OperationID> = []
    /// Operations that the run has removed for a newer one that is not named, and why.
    private var superseded: [OperationID: String] = [:]

    /// Finds the operations. Reports at once the names that no run can send.
    init(_ targets: [NamedTarget], of queue: OpenQueue) throws {
        self.queue = queue
        let found = try queue.spool.found(targets)
        var ids: [OperationID] = []
        var seen: Set<OperationID> = []
        for target in targets {
            guard let one = found[target]?.first else {
                statuses.append(.failed)
                Messages.error("cannot send '\(target)': no such operation in the queue", hint: target.hint)
                continue
            }
            guard case .operation(let entry) = one, !entry.hasFailed, entry.state != .delivered else {
                statuses.append(.failed)
                let state = if case .operation(let entry) = one { entry.state } else { QueueState.quarantine }
                let command = state == .delivered ? "show" : "retry"
                Messages.error(
                    "cannot send '\(target)': it is \(state.word)", hint: pasted(command, target.description))
                continue
            }
            if seen.insert(entry.name.id).inserted { ids.append(entry.name.id) }
        }
        (self.ids, named) = (ids, seen)
    }

    mutating func take(_ event: RunEvent) {
        switch event {
        case .attempted(let attempt) where attempt.settlement.disposition == .superseded:
            superseded[attempt.id] = "it failed, and a newer operation replaced it"
        case .attempted(let attempt), .settledUnsent(let attempt), .foundEnded(let attempt):
            reported.insert(attempt.id)
        case .superseded(let name, by: let newer, destination: _):
            if named.contains(newer) {
                reported.insert(name.id)
            } else {
                superseded[name.id] = "'\(newer)' replaced it"
            }
        case .quarantined(let item): if let id = item.name?.id { reported.insert(id) }
        case .chosen, .notKept, .changed, .recovered, .parked, .withheld, .networkAbsent, .evicted, .stopping,
            .inputOutputError, .agentsFailed:
            break
        }
    }

    /// Notes an operation that a dry run prints.
    mutating func plan(_ id: OperationID) { reported.insert(id) }

    /// Reports, for each operation that the run has not sent, what it waits for, or that it is superseded. Returns the
    /// statuses, with those of the names: `failed` if it is superseded, `held` if a person or a credential is needed,
    /// else `deferred`. Reports an error, too: the run is over and has a summary. `isLeftToOthers`: another process has
    /// the order of a destination.
    func reportUnsent(isLeftToOthers: Bool = false) -> [ExitStatus] {
        let unsent = ids.filter { superseded[$0] != nil || !reported.contains($0) }
        if unsent.isEmpty { return statuses }
        do throws(SpoolError) {
            return statuses + (try report(unsent, isLeftToOthers))
        } catch {
            let failure = CommandFailure(error, hasBegun: true)
            for message in failure.messages { Messages.error(message.text, hint: message.hint) }
            return statuses + [failure.status]
        }
    }

    private func report(_ unsent: [OperationID], _ isLeftToOthers: Bool) throws(SpoolError) -> [ExitStatus] {
        let now = Timestamp.now()
        let known = try queue.knownDestinations()
        let found = try queue.spool.found(unsent.map { .id($0) })
        var order = try QueueView(queue.spool, queue.configuration, known, at: now, named: ids)
        var statuses: [ExitStatus] = []
        for id in unsent {
            if let reason = superseded[id] {
                Messages.error("'\(id)' is superseded: \(reason)")
                statuses.append(.failed)
                continue
            }
            guard case .operation(let entry)? = found[.id(id)]?.first else {
                Messages.notice("'\(id)' is gone: another process has sent or dropped it")
                continue
            }
            let waiting = order.waiting(of: entry)
            let isHeld = waiting?.needsPerson ?? false
            let reason =
                switch waiting {
                case nil: entry.isInFlight ? "another run has claimed it" : "it is \(entry.state.word)"
                case .nothing where isLeftToOthers && queue.configuration.route(of: entry.name.type).isSequential:
                    "another run has its destination, and sends the operations that have an order"
                case .nothing, .time, .witness: "the run ended before it sent this operation"
                case .some(let waiting):
                    waiting.sentence(now, id: id, destination: known.table.destination(of: entry.name).name)
                }
            statuses.append(isHeld ? .held : .deferred)
            if isHeld {
                Messages.error("cannot send '\(id)': \(reason)")
            } else {
                Messages.notice("'\(id)' was not sent: \(reason)")
            }
        }
        return statuses
    }
}
