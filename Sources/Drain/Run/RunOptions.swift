package import Policy

/// The options of a run from the command line.
package struct RunOptions: Hashable, Sendable {
    /// The time that a run stays after it has attempted the due operations.
    package enum Stay: Hashable, Sendable {
        /// One pass.
        case no
        /// Until this time after the start, for operations that become due.
        case during(Duration)
        /// Until no operation waits that this run may send, or until `maxTime`.
        case untilEmpty
    }

    /// The most operations of one pass.
    package var limit: Int
    package var concurrency: Concurrency
    /// The time after the start from which the run claims nothing, and attempts in flight have `grace` to end.
    package var maxTime: Duration?
    package var stay: Stay
    /// Whether to send operations before their time, too, and to ignore the configuration's conditions. An operation's
    /// own `notBefore` still applies, unless `ids` names it. Always true with `ids`.
    package var ignoresBackoff: Bool
    /// The only operations to send. They do not wait, except for a hold, a pause, a retry-after, and older operations
    /// of their sequence; `nil` for all due operations.
    package var ids: Set<OperationID>?
    /// The only types to send; empty for all.
    package var types: Set<TypeName>
    /// The names of the only destinations to send to; empty for all.
    package var destinations: Set<String>
    /// The rate at which attempts begin, over all destinations.
    package var rate: Rate?
    /// Whether to attempt nothing while another run is at the queue.
    package var failsIfBusy: Bool
    /// The time for attempts in flight to continue after a signal or `maxTime`.
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
