/// The programs that runs call on events, each by its argument vector.
package struct Hooks: Hashable, Sendable {
    package enum Event: String, CaseIterable, Codable, Sendable {
        /// A hold of a destination has begun.
        case held
        /// A hold has ended.
        case released
        /// Nothing has been delivered to a destination for `downAfter`, since the first attempt that was no delivery.
        case down
        /// A destination that was down has taken an operation, or nothing names it any more.
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

        /// The reason that the report of an end has.
        var reasonOfEnd: String {
            switch self {
            case .up: "it has taken an operation, or nothing names it"
            case .cleared: "no operation is as old"
            default: "an operation was delivered, the cause of the hold has changed, or an operator has released it"
            }
        }
    }

    package var commands: [Event: [String]] = [:]
    /// The minimum time between two calls for the same event of the same destination.
    package var atMostEvery: Duration = Self.defaultAtMostEvery

    /// The time without a delivery after which a destination is down.
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
    /// Returns why the destination is down; `nil` if it is not, or not long enough. A hold is told as a hold.
    package func outage(by hooks: Hooks, at now: Timestamp) -> HookCondition? {
        guard let incident = trouble, incident.duration(at: now) >= hooks.downAfter else { return nil }
        let cause = incident.cause
        let answer = cause.status == nil ? cause.text : "answers \(cause.text)"
        return HookCondition(reason: "\(answer), since \(incident.since.rfc3339)", mayBegin: hold == nil && !isPaused)
    }

    /// Returns why the destination is held; `nil` if it is not. A hold by hand is no news, and does not end a hold.
    package var holdForHooks: HookCondition? {
        hold.map { HookCondition(reason: $0.shownCause.text, mayBegin: !$0.isByHand) }
    }
}

/// A condition of a destination that a hook is called for when it begins, and again when it has ended.
package struct HookCondition: Hashable, Sendable {
    package var reason: String
    /// Whether it may begin now. False if it only goes on: another report tells of the destination.
    package var mayBegin = true

    package init(reason: String, mayBegin: Bool = true) {
        self.reason = reason
        self.mayBegin = mayBegin
    }
}

/// The report of an event at a destination.
package struct News: Hashable, Codable, Sendable {
    package var event: Hooks.Event
    /// `nil` for quarantined files, which have no destination, and for runs, which have many.
    package var destination: String?
    /// The reason of the last event of destinations and runs; of the first event otherwise.
    package var reason: String
    /// The number of destinations (`held`, `down`, `backlog` and their ends), runs (`started`, `ended`), or operations.
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
    package mutating func add(_ later: News) {
        ids = Array((ids + later.ids).prefix(Self.idsTold))
        switch event {
        case .held, .released, .down, .up, .backlog, .cleared: reason = later.reason
        case .failed, .quarantined, .delivered: count +|= later.count
        case .started, .ended:
            count +|= later.count
            reason = later.reason
        }
    }

    /// Returns the report of an operation that was evicted: it will not be delivered, as one that has failed.
    package static func evicted(_ name: EntryName, _ destination: String) -> News {
        News(.failed, destination, reason: "evicted: the queue was full", ids: ["\(name.id)"])
    }

    /// Returns the report of an operation that waits for a value of an evicted one: no answer will provide it.
    package static func follower(_ name: EntryName, _ destination: String) -> News {
        News(.failed, destination, reason: "waits for a value of an evicted operation", ids: ["\(name.id)"])
    }
}
