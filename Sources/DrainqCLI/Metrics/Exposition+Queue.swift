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
        times(.nextDue, rows, \.next)
        times(.lastSuccess, rows, \.state.lastSuccess)
        closed(status, rows)
        count(counters, rows)
        lastRun(status)
        begin(.written)
        sample(status.at)
    }

    /// Returns the destinations with the most operations, sorted by name.
    private static func shown(_ rows: [QueueCount.DestinationCount]) -> [QueueCount.DestinationCount] {
        guard rows.count > Counters.mostDestinations else { return rows }
        let largest = rows.sorted { ($1.total, $0.name) < ($0.total, $1.name) }
        return largest.prefix(Counters.mostDestinations).sorted { $0.name < $1.name }
    }

    private mutating func operations(_ status: QueueStatus, _ rows: [QueueCount.DestinationCount]) {
        begin(.operations)
        for state in ShownState.allCases {
            var rest = status.health.states[state] ?? 0
            // Operations in quarantine or delivered have no known destination.
            for row in rows where state != .quarantined && state != .delivered {
                sample(row.count(of: state), ("state", state.rawValue), ("destination", row.name))
                rest -= row.count(of: state)
            }
            sample(max(0, rest), ("state", state.rawValue), ("destination", ""))
        }
        begin(.due)
        sample(status.health.due)
    }

    /// Adds a time of each destination that has one.
    private mutating func times(
        _ family: MetricFamily, _ rows: [QueueCount.DestinationCount],
        _ time: (QueueCount.DestinationCount) -> Timestamp?
    ) {
        begin(family)
        for row in rows {
            if let moment = time(row) { sample(moment, ("destination", row.name)) }
        }
    }

    private mutating func closed(_ status: QueueStatus, _ rows: [QueueCount.DestinationCount]) {
        let health = Dictionary(
            status.health.destinations.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        begin(.closed)
        for row in rows {
            let reasons = [
                ("held", health[row.name]?.state == .held), ("paused", row.state.isPaused),
                ("circuit-breaker", row.end(of: .circuitBreaker) != nil),
                ("retry-after", row.end(of: .retryAfter) != nil),
            ]
            for (reason, holds) in reasons {
                sample(holds ? 1 : 0, ("destination", row.name), ("reason", reason))
            }
        }
        begin(.trouble)
        for row in rows { sample(health[row.name]?.isTrouble == true ? 1 : 0, ("destination", row.name)) }
        times(.downSince, rows) { health[$0.name]?.state == .down ? $0.state.trouble?.since : nil }
        begin(.unsent)
        for row in rows { sample(row.unsent?.count ?? 0, ("destination", row.name)) }
        begin(.paused)
        sample(status.paused ? 1 : 0)
    }

    private mutating func count(_ counters: Counters, _ rows: [QueueCount.DestinationCount]) {
        // A counter that exists at zero does not miss the first increment.
        let names = Set(rows.map(\.name)).union(counters.destinations.keys).sorted()
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
        if let last = status.health.runs.last(at: status.at) {
            begin(.lastRun)
            sample(last)
        }
        if let interval = status.health.runs.interval(at: status.at) {
            begin(.runInterval)
            sample(interval)
        }
        guard let last = status.lastRun?.circumstances else { return }
        begin(.lastRunDuration)
        sample(Duration.milliseconds(last.durationMs))
        begin(.lastRunStatus)
        sample(Int(last.exitStatus))
    }
}

extension QueueCount.DestinationCount {
    fileprivate var total: Int { waiting + count(of: .failed) }
}
