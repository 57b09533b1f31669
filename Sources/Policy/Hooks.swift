/// Programs that are told of what has changed, each by its argument vector.
package struct Hooks: Hashable, Sendable {
    package enum Event: String, CaseIterable, Codable, Sendable {
        /// A destination is held from now on.
        case held
        /// A hold has ended.
        case released
        /// Operations were given up.
        case failed
        /// Files turned out to be no operations.
        case quarantined
        /// Operations were delivered.
        case delivered
        /// Runs began to send.
        case started
        /// Runs that had something to do ended.
        case ended

        /// The event that undoes this one.
        var opposite: Event? {
            switch self {
            case .held: .released
            case .released: .held
            case .failed, .quarantined, .delivered, .started, .ended: nil
            }
        }
    }

    package var commands: [Event: [String]]
    /// At least this long lies between two calls for the same event of the same destination.
    package var atMostEvery: Duration

    package static let defaultAtMostEvery = Duration.seconds(3600)

    package init(commands: [Event: [String]] = [:], atMostEvery: Duration = Self.defaultAtMostEvery) {
        self.commands = commands
        self.atMostEvery = atMostEvery
    }
}

/// The report of one event at one destination.
package struct HookNews: Hashable, Codable, Sendable {
    package var event: Hooks.Event
    /// `nil` for quarantine, and for runs: what is no operation goes nowhere, and a run has many destinations.
    package var destination: String?
    /// The reason of the first event; for runs, that of the last one.
    package var reason: String
    /// Destinations where they are held or released, runs where they started or ended, else operations or files.
    package var count: Int
    /// The first of them; none for destinations and runs.
    package private(set) var ids: [String]

    /// More ids than these are a list that nobody reads.
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

    /// Takes in what happened after it, of the same event and destination.
    package mutating func add(_ later: HookNews) {
        ids = Array((ids + later.ids).prefix(Self.idsTold))
        switch event {
        case .held, .released: reason = later.reason
        case .failed, .quarantined, .delivered: count +|= later.count
        case .started, .ended:
            count +|= later.count
            reason = later.reason
        }
    }
}
