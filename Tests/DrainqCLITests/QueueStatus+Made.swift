import Drain

@testable import DrainqCLI
@testable import Policy

extension QueueStatus {
    /// Makes the status of a queue with these destinations, to which runs come each minute.
    init(of rows: [QueueCount.DestinationCount], at now: Timestamp, queue: String = "/q") {
        var health = QueueHealth(at: now)
        health.destinations = rows.map { $0.health(at: now) }
        health.runs = RunTimes((0..<60).map { now - .seconds(60 * $0 + 5) })
        health.oldest = rows.compactMap(\.oldest).min()
        health.lastSuccess = rows.compactMap(\.state.lastSuccess).max()
        for state in ShownState.allCases {
            health.states[state] = rows.reduce(0) { $0 + ($1.operations[state] ?? 0) }
        }
        health.newFailed = health.states[.failed] ?? 0
        self.init(at: now, queue: queue, health: health)
        destinations = rows
    }
}
