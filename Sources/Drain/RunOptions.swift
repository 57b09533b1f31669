package import Policy

/// The options of a run from the command line.
package struct RunOptions: Hashable, Sendable {
    /// How long a run stays once it has attempted the due operations.
    package enum Stay: Hashable, Sendable {
        /// One pass.
        case no
        /// For operations that become due within this time after the start.
        case during(Duration)
        /// Until nothing waits that this run may try; `maxTime` bounds it.
        case untilEmpty
    }

    /// The most operations that one pass takes.
    package var limit: Int
    package var concurrency: Concurrency
    /// From the start: no claim after it, and what is in flight has `grace` to end.
    package var maxTime: Duration?
    package var stay: Stay
    /// Try what waits for its time, too, whatever the configuration's conditions say. What an operation itself asked for
    /// (`notBefore`) is still kept. Always true with `ids`.
    package var ignoresBackoff: Bool
    /// Only these operations, now: whatever they wait for but a hold, a pause, the time that a server asked for, and older
    /// operations of their sequence; `nil` is all operations that are due.
    package var ids: Set<OperationID>?
    /// Only these types; empty is all.
    package var types: Set<TypeName>
    /// Only these destinations, by name; empty is all.
    package var destinations: Set<String>
    /// The rate at which attempts begin, over all destinations.
    package var rate: Rate?
    /// Attempt nothing while another run is at it.
    package var failsIfBusy: Bool
    /// How long attempts in flight may continue after a signal or `maxTime`.
    package var grace: Duration
    /// Upper bound on candidates chosen at once, whatever the limit. Keeps memory independent of the queue's size.
    var portion = 20_000

    package init(
        limit: Int = 100, concurrency: Concurrency = .auto, maxTime: Duration? = nil, stay: Stay = .no,
        ignoresBackoff: Bool = false, ids: Set<OperationID>? = nil,
        types: Set<TypeName> = [], destinations: Set<String> = [], rate: Rate? = nil, failsIfBusy: Bool = false,
        grace: Duration = .seconds(10)
    ) {
        self.limit = limit
        self.concurrency = concurrency
        self.maxTime = maxTime
        self.stay = stay
        self.ignoresBackoff = ignoresBackoff || ids != nil
        self.ids = ids
        self.types = types
        self.destinations = destinations
        self.rate = rate
        self.failsIfBusy = failsIfBusy
        self.grace = grace
    }
}

/// How many attempts are in flight at once.
package enum Concurrency: Hashable, Sendable {
    /// For each destination as many as its server bears, see `AdaptiveConcurrency`.
    case auto
    case atMost(Int)

    /// The most attempts in flight at once, to all destinations together.
    package var most: Int {
        switch self {
        case .auto: AdaptiveConcurrency.highest
        case .atMost(let count): count
        }
    }
}
