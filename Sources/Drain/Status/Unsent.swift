package import Policy

/// Operations of a destination that are due since before runs that came and did not send them, or not to the end.
package struct Unsent: Hashable, Sendable {
    package private(set) var count = 0
    /// Since when runs have passed over the first of them.
    package private(set) var since: Timestamp
    package private(set) var first: OperationID
    /// Why, as the runs that put it back have told; `nil` if no run has taken it at all.
    package private(set) var reason: String?

    init(_ id: OperationID, since: Timestamp, reason: String?) {
        (first, self.since, self.reason, count) = (id, since, reason, 1)
    }

    func joined(by other: Unsent?) -> Unsent {
        guard let other else { return self }
        var joined = (other.since, other.first.description) < (since, first.description) ? other : self
        joined.count = count + other.count
        return joined
    }

    /// The time without an attempt after which no run is for the operation, if its destination was served meanwhile.
    /// Runs for some types alone may come once a day.
    static let longestTurn = Duration.seconds(25 * 3600)
    /// The time in flight after which a run hangs, unless the route lets a request take as long.
    static let longestFlight = Duration.seconds(3600)
}
