import Drain
import Policy
import Spool

extension Exposition {
    init(of queue: OpenQueue, at now: Timestamp) throws {
        self.init(of: try QueueStatus(of: queue, at: now), try Counters.read(from: queue.spool))
    }

    /// Makes the metrics of a queue: gauges from its directory at this moment, counters from the file that runs write.
    ///
    /// Operations without a destination, or with one beyond the first thousand, have an empty name, so that sums over
    /// all destinations are right.
    init(of status: QueueStatus, _ counters: Counters) {
        self.init(common: [("queue", absolutePath(status.queue))])
        let rows = Self.shown(status.destinations)
        operations(status, rows)
        times(.oldest, rows, \.oldest)
        times(.nextDue, rows, \.nextDue)
        times(.lastSuccess, rows, \.lastSuccess)
        closed(status, rows)
        count(counters, rows)
        lastRun(status)
        begin(.written)
        sample(status.at)
    }

    /// Returns the destinations with the most operations, sorted by name.
    private static func shown(_ rows: [QueueStatus.Row]) -> [QueueStatus.Row] {
        guard rows.count > Counters.mostDestinations else { return rows }
        let largest = rows.sorted { ($1.total, $0.destination) < ($0.total, $1.destination) }
        return largest.prefix(Counters.mostDestinations).sorted { $0.destination < $1.destination }
    }

    private mutating func operations(_ status: QueueStatus, _ rows: [QueueStatus.Row]) {
        begin(.operations)
        for state in ShownState.allCases {
            var rest = status.states[state.rawValue] ?? 0
            for row in rows {
                guard let count = row.count(of: state) else { continue }
                sample(count, ("state", state.rawValue), ("destination", row.destination))
                rest -= count
            }
            sample(max(0, rest), ("state", state.rawValue), ("destination", ""))
        }
        begin(.due)
        sample(status.due)
    }

    /// Adds a time of each destination that has one.
    private mutating func times(
        _ family: MetricFamily, _ rows: [QueueStatus.Row], _ time: (QueueStatus.Row) -> Timestamp?
    ) {
        begin(family)
        for row in rows {
            if let moment = time(row) { sample(moment, ("destination", row.destination)) }
        }
    }

    private mutating func closed(_ status: QueueStatus, _ rows: [QueueStatus.Row]) {
        let held = Set(status.holds.map(\.destination))
        begin(.closed)
        for row in rows {
            let reasons = [
                ("held", held.contains(row.destination)), ("paused", row.paused),
                ("circuit-breaker", row.coolDownUntil != nil), ("retry-after", row.retryAfterUntil != nil),
            ]
            for (reason, holds) in reasons {
                sample(holds ? 1 : 0, ("destination", row.destination), ("reason", reason))
            }
        }
        times(.downSince, rows, \.downSince)
        begin(.paused)
        sample(status.paused ? 1 : 0)
    }

    private mutating func count(_ counters: Counters, _ rows: [QueueStatus.Row]) {
        // A counter that exists at zero does not miss the first increment.
        let names = Set(rows.map(\.destination)).union(counters.destinations.keys).sorted()
        for count in Counters.Count.allCases {
            begin(.counter(count))
            for name in names { sample(counters.destinations[name]?[count] ?? 0, ("destination", name)) }
        }
        begin(.quarantined)
        sample(counters.quarantined)
        begin(.runs)
        let statuses = counters.runs.keys.sorted { (Int($0) ?? 0, $0) < (Int($1) ?? 0, $1) }
        for status in statuses { sample(counters.runs[status] ?? 0, ("exit_status", status)) }
    }

    private mutating func lastRun(_ status: QueueStatus) {
        guard let last = status.lastRun, let start = Timestamp(rfc3339: last.startedAt) else { return }
        let duration = Duration.milliseconds(last.durationMs)
        begin(.lastRunEnd)
        sample(start + duration)
        begin(.lastRunDuration)
        sample(duration)
        begin(.lastRunStatus)
        sample(Int(last.exitStatus))
    }
}

extension QueueStatus.Row {
    fileprivate var total: Int { new + deferred + held + claimed + failed }

    /// The number of operations in a state; `nil` for states whose operations have no known destination.
    fileprivate func count(of state: ShownState) -> Int? {
        switch state {
        case .new: new
        case .deferred: deferred
        case .claimed: claimed
        case .held: held
        case .failed: failed
        case .quarantined, .delivered: nil
        }
    }
}
