package import Policy
import Spool

/// One attempt, and its effect on the operation.
package final class AttemptEvent: Sendable {
    package let id: OperationID
    package let type: TypeName
    package let destination: String
    package let settlement: Settlement
    /// The attempts counted so far, this attempt included if it counted.
    package let attempts: Int
    package let attemptsAllowed: Int?

    package init(
        id: OperationID, type: TypeName, destination: String, settlement: Settlement, attempts: Int,
        attemptsAllowed: Int?
    ) {
        self.id = id
        self.type = type
        self.destination = destination
        self.settlement = settlement
        self.attempts = attempts
        self.attemptsAllowed = attemptsAllowed
    }

    package var record: AttemptRecord { settlement.record }

    /// The time of the next attempt; `nil` if none follows by itself.
    package var nextDue: Timestamp? {
        if case .deferred(let until, _) = settlement.disposition { until } else { nil }
    }

    /// Whether the operation is held by itself, for an operator: it is not known whether the server received it.
    package var isHeldByItself: Bool { settlement.disposition == .held }

    /// Whether the operation failed for good; false if a newer value superseded it.
    package var hasFailed: Bool {
        if case .failed = settlement.disposition { true } else { false }
    }
}

extension AttemptEvent {
    convenience init(of member: Member, _ settlement: Settlement, _ attempt: Attempt) {
        let attempts = member.name.attempts + (settlement.disposition.countsAttempt ? 1 : 0)
        self.init(
            id: member.name.id, type: member.name.type, destination: attempt.destination.name,
            settlement: settlement, attempts: attempts,
            attemptsAllowed: attempt.maker.attemptsAllowed(
                after: member.operation.attempts, settlement.record, counted: attempts))
    }
}
