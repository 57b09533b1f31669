import Policy

extension SpoolRun {
    /// The names of the other runs at the queue. After `recover` these are alive, as far as their locks can be judged.
    /// If a run has died since, the next run recovers its claims. A `send` is not a run: it takes no share of the
    /// queue.
    package var otherRuns: [String] {
        get throws(SpoolError) {
            try queue.names(in: QueueState.claimed.path).map(QueuePath.escaped)
                .filter { $0 != name && LockedDirectory.isName($0) && !$0.hasPrefix(Self.timeOfSends) }
        }
    }

    /// The time in the names of the directories of `send`, as of writers' in `tmp/`.
    fileprivate static var timeOfSends: String { Timestamp(microseconds: 0).compactMicroseconds }

    /// Whether another run is at the queue. Meaningful after `recover`.
    package var hasOtherRuns: Bool {
        get throws(SpoolError) { try !otherRuns.isEmpty }
    }
}

extension SpoolDirectory {
    /// Whether a living process has the operation that may keep nothing of it: `send`, whose server may refuse it, or
    /// an addition that makes room.
    func mayEnd(_ entry: Entry) throws(SpoolError) -> Bool {
        guard let claimer = entry.claimedBy, claimer.hasPrefix(SpoolRun.timeOfSends) else { return false }
        return try runs().alive.contains(claimer)
    }
}
