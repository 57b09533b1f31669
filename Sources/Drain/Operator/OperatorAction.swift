package import Policy
package import Spool

/// What an operator does to operations.
package enum OperatorAction: Hashable, Sendable {
    /// Makes operations due again. `spacing` is the time between the due times of two; `nil` makes all due at once.
    /// `asNewest`: a dead letter is created anew, now, so no newer value of its key supersedes it.
    case retry(spacing: Duration? = nil, asNewest: Bool = false)
    case hold
    case release
    /// Removes operations for good. `withFollowers`: also the operations held behind the chosen failed ones.
    case drop(withFollowers: Bool = false)

    /// The states that a filter searches unless it names others.
    package var states: Set<ShownState> {
        switch self {
        case .retry: [.failed, .deferred]
        case .hold: [.new, .deferred, .held, .claimed]
        case .release: [.held]
        case .drop: [.new, .deferred, .held, .failed, .claimed]
        }
    }

    /// Whether the action changes files in quarantine too.
    package var takesQuarantined: Bool {
        switch self {
        case .retry, .drop: true
        case .hold, .release: false
        }
    }

    /// Why an operation cannot change.
    package enum Objection: Hashable, Sendable {
        /// No operation in this state can.
        case state(QueueState)
        case isHeld
        /// The operation is not held by itself. A destination or a failed operation may hold it.
        case isNotHeld
        /// This failed operation holds it, and would go on to.
        case isHeldBehind(OperationID)
        /// A run was faster.
        case isClaimed
        /// The operation is in another state now.
        case hasMoved(to: QueueState)
        case isGone
        /// Its file is no operation that a run could send.
        case isDamaged(String)
        /// Another operation has taken its name: the file has other bytes than were saved.
        case isReplaced
        /// A newer value of its key is in the queue.
        case isSuperseded(by: OperationID)
        /// A run would fail it again. `isOwn`: by its own time, which no retry moves.
        case hasExpired(isOwn: Bool)
    }

    /// Returns why a run would fail an operation of this state unsent after its retry; `nil` if it would not. An
    /// operation created anew has the time of its retry as its beginning.
    package func objection(
        toRetryOf operation: Operation, in state: QueueState, _ configuration: Configuration, at now: Timestamp
    ) -> Objection? {
        if let own = operation.header.expiresAt, own <= now { return .hasExpired(isOwn: true) }
        if renews(state) { return nil }
        let route = configuration.route(of: operation.header.type)
        return Settlement.decide(onExpiryOf: operation, route: route, now: now).map { _ in .hasExpired(isOwn: false) }
    }

    /// Whether the action creates an operation of this state anew, now, so no newer value of its key supersedes it.
    func renews(_ state: QueueState) -> Bool {
        guard case .retry(spacing: _, asNewest: true) = self else { return false }
        return state == .failed || state == .quarantine
    }

    /// Whether the action leaves values alone that failed, or are in quarantine, and that a newer value of their key
    /// supersedes.
    func leavesSuperseded(_ configuration: Configuration) -> Bool {
        guard case .retry(spacing: _, asNewest: false) = self else { return false }
        return configuration.hasSequentialRoutes
    }

    /// Returns the newer value of each operation that the action leaves alone for it, by the name of the operation. A
    /// caller that brings operations back from row X or Q has the names lock; without it the answer can be outdated.
    package func newer(
        than entries: some Sequence<Entry>, in spool: SpoolDirectory, _ configuration: Configuration, at now: Timestamp
    ) throws(SpoolError) -> [EntryName: OperationID] {
        guard case .retry = self, configuration.hasSequentialRoutes else { return [:] }
        let names = entries.filter { !renews($0.state) }.map(\.name)
        return try spool.newer(than: names, by: ReplacementRule(configuration, at: now))
    }

    /// Returns why an operation cannot change; `nil` if it can.
    package func objection(to entry: Entry) -> Objection? {
        if entry.isInFlight { return .state(.claimed) }
        switch self {
        case .retry, .drop: return entry.state == .delivered ? .state(entry.state) : nil
        case .hold, .release:
            guard entry.state == .new || entry.state == .deferred else { return .state(entry.state) }
            if entry.name.isHeld == (self == .release) { return nil }
            return self == .hold ? .isHeld : .isNotHeld
        }
    }
}
