/// The programs that runs call on events, each by its argument vector.
package struct Hooks: Hashable, Sendable {
    package enum Event: String, CaseIterable, Codable, Sendable {
        /// A hold of a destination has begun.
        case held
        /// A hold has ended.
        case released
        /// A destination has failed for `downAfter` without an answer.
        case down
        /// A destination that was down has answered, or runs have forgotten it.
        case up
        /// The oldest operation for a destination is older than `backlogAfter`.
        case backlog
        /// A backlog has ended.
        case cleared
        /// Operations became dead letters.
        case failed
        /// Files were quarantined: they are not operations.
        case quarantined
        /// Operations were delivered.
        case delivered
        /// Runs began to send.
        case started
        /// Runs with work ended.
        case ended

        /// The event that undoes this one.
        var opposite: Event? {
            switch self {
            case .held: .released
            case .released: .held
            case .down: .up
            case .up: .down
            case .backlog: .cleared
            case .cleared: .backlog
            case .failed, .quarantined, .delivered, .started, .ended: nil
            }
        }
    }

    package var commands: [Event: [String]] = [:]
    /// The minimum time between two calls for the same event of the same destination.
    package var atMostEvery: Duration = Self.defaultAtMostEvery

    /// The time without an answer after which a failing destination is down.
    package var downAfter = Self.defaultDownAfter
    /// The age of an operation from which on its destination has a backlog.
    package var backlogAfter = Self.defaultBacklogAfter

    package static let defaultAtMostEvery = Duration.seconds(3600)
    package static let defaultDownAfter = Duration.seconds(1800)
    package static let defaultBacklogAfter = Duration.seconds(6 * 3600)

    /// Whether a hook takes this event or its end.
    package func takes(_ event: Event) -> Bool {
        commands[event] != nil || event.opposite.map { commands[$0] != nil } ?? false
    }
}

extension DestinationState {
    /// Returns why the destination is down; `nil` if it is not, or not long enough.
    package func outage(by hooks: Hooks, at now: Timestamp) -> String? {
        guard failures > 0, let downSince, now - downSince >= hooks.downAfter else { return nil }
        return "\(lastFailure ?? "no answer"), since \(downSince.rfc3339)"
    }
}

/// The report of an event at a destination.
package struct HookNews: Hashable, Codable, Sendable {
    package var event: Hooks.Event
    /// `nil` for quarantined files, which have no destination, and for runs, which have many.
    package var destination: String?
    /// The reason of the last event of destinations and runs; of the first event otherwise.
    package var reason: String
    /// The number of destinations (`held`, `down`, `backlog` and their ends), of runs (`started`, `ended`), otherwise
    /// of operations or files.
    package var count: Int
    /// The ids of the first operations or files, at most `idsTold`; empty for destinations and runs.
    package private(set) var ids: [String]

    /// The upper bound of `ids`. Keeps the list readable.
    package static let idsTold = 10

    package init(
        _ event: Hooks.Event, _ destination: String? = nil, reason: String, count: Int = 1, ids: [String] = []
    ) {
        self.event = event
        self.destination = destination
        self.reason = reason
        self.count = count
        self.ids = Array(ids.prefix(Self.idsTold))
    }

    /// Adds a later report of the same event and destination.
    package mutating func add(_ later: HookNews) {
        ids = Array((ids + later.ids).prefix(Self.idsTold))
        switch event {
        case .held, .released, .down, .up, .backlog, .cleared: reason = later.reason
        case .failed, .quarantined, .delivered: count +|= later.count
        case .started, .ended:
            count +|= later.count
            reason = later.reason
        }
    }
}
