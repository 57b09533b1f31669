import Policy
import Spool

/// An operation that `send` attempts, with its state so far.
struct SentOperation {
    /// The operation, with the records of its attempts.
    var operation: Operation
    /// The name, with the number of attempts and the earliest time of the next one.
    var name: EntryName
    let route: Route
    let destination: Destination
    /// Whether `send` has looked up the credentials again.
    var hasRefreshed = false

    init(_ operation: Operation, _ configuration: Configuration) {
        self.operation = operation
        name = EntryName(naming: operation.header)
        route = configuration.route(of: name.type)
        let origin = operation.header.url.flatMap { Origin(url: $0)?.description }
        destination = DestinationTable(configuration, knowing: origin.map { [$0] } ?? []).destination(of: name)
    }

    /// Notes a deferred attempt in the name, with the earliest time of the next one.
    mutating func note(_ countsAttempt: Bool, due: Timestamp) {
        if countsAttempt { name.attempts = min(name.attempts + 1, 9999) }
        name.gate = .retryAt(due)
    }

    // MARK: - Postponing

    /// Returns the result that postpones the operation. `isHeld`: its destination is held.
    func postponed(_ reason: String, isHeld: Bool = false) -> Sending.Result {
        .postponed(postponement(reason, isHeld: isHeld))
    }

    func postponed(_ record: AttemptRecord, isHeld: Bool = false) -> Sending.Result {
        var reason = record.status.map(String.init) ?? record.error ?? record.rule
        if let excerpt = record.excerpt, !excerpt.isEmpty { reason += " (\(excerpt))" }
        return postponed(reason, isHeld: isHeld)
    }

    func postponed(_ block: Availability.Block, _ destination: RunDestination) -> Sending.Result {
        let quoted = "'\(destination.name)'"
        let until = block.until.map { " until \($0.rfc3339)" } ?? ""
        let reason =
            switch block.reason {
            case .paused: "\(quoted) is paused"
            case .held: "\(quoted) is held: \(destination.state.hold?.reason ?? "no reason recorded")"
            case .retryAfter: "the server of \(quoted) asked for time\(until)"
            case .circuitBreaker: "the circuit breaker of \(quoted) is open\(until)"
            }
        return postponed(reason, isHeld: block.reason == .held)
    }

    func postponement(_ reason: String, isHeld: Bool = false) -> Sending.Postponement {
        Sending.Postponement(operation: operation, name: name, reason: reason, isHeld: isHeld)
    }
}
