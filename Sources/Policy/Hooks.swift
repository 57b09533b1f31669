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

        /// What undoes it.
        var opposite: Event? {
            switch self {
            case .held: .released
            case .released: .held
            case .failed, .quarantined: nil
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

/// What there is to tell of one event at one destination.
package struct HookNews: Hashable, Codable, Sendable {
    package var event: Hooks.Event
    /// `nil` for quarantine: what is no operation goes nowhere.
    package var destination: String?
    /// Of the first.
    package var reason: String
    /// Destinations where they are held or released, else operations or files.
    package var count: Int
    /// The first of them; none for destinations.
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
        case .failed, .quarantined: count +|= later.count
        }
    }
}
