import Policy

/// One metric, as the exposition and the manual describe it.
struct MetricFamily: Hashable, Sendable {
    enum Kind: String, Sendable {
        case counter
        case gauge
    }

    var name: String
    var kind: Kind
    /// The description: one sentence.
    var help: String

    private init(_ name: String, _ kind: Kind, _ help: String) {
        self.name = "drainq_" + name
        (self.kind, self.help) = (kind, help)
    }

    /// All metrics, in the order of the exposition.
    static let table: [MetricFamily] =
        [operations, due, oldest, nextDue, lastSuccess, closed, trouble, downSince, unsent, paused]
        + Counters.Count.allCases.map(counter)
        + [quarantined, runs, lastRun, runInterval, lastRunDuration, lastRunStatus, written]

    static let operations = MetricFamily("operations", .gauge, "Operations in the queue by state and destination.")
    static let due = MetricFamily("due_operations", .gauge, "Operations that are due; a paused queue has none.")
    static let oldest = MetricFamily(
        "oldest_operation_timestamp_seconds", .gauge,
        "The creation time of the oldest operation that waits or is in flight; its age is the time minus this.")
    static let nextDue = MetricFamily(
        "next_due_timestamp_seconds", .gauge,
        "When the next operation is due, by its own time and that of its destination.")
    static let lastSuccess = MetricFamily(
        "last_success_timestamp_seconds", .gauge, "When the last operation was delivered there.")
    static let closed = MetricFamily(
        "destination_closed", .gauge,
        "Whether the destination is blocked, 1 or 0, by reason: held, paused, circuit-breaker, or retry-after.")
    static let downSince = MetricFamily(
        "down_since_timestamp_seconds", .gauge,
        "When the first attempt since the last delivery was no delivery; only of destinations that are down.")
    static let trouble = MetricFamily(
        "destination_in_trouble", .gauge,
        "Whether the destination is held, or takes nothing for 15 minutes whatever it answers, 1 or 0.")
    static let unsent = MetricFamily(
        "unsent_operations", .gauge, "Operations that are due since before runs that came and did not send them.")
    static let paused = MetricFamily("paused", .gauge, "Whether the whole queue is paused, 1 or 0.")
    static let quarantined = MetricFamily(
        "quarantined_total", .counter, "Files that went into quarantine because they are not operations.")
    static let runs = MetricFamily("runs_total", .counter, "Runs with work, by exit status.")
    static let lastRun = MetricFamily(
        "last_run_timestamp_seconds", .gauge, "When the last run was at the queue, also one without work.")
    static let runInterval = MetricFamily(
        "run_interval_seconds", .gauge, "The usual time between two runs: the median of the last day.")
    static let lastRunDuration = MetricFamily(
        "last_run_duration_seconds", .gauge, "How long the last run with work took.")
    static let lastRunStatus = MetricFamily(
        "last_run_exit_status", .gauge, "The exit status of the last run with work.")

    static let written = MetricFamily(
        "exposition_timestamp_seconds", .gauge, "When these metrics were made: of a text file, by the last run.")

    static func counter(_ count: Counters.Count) -> MetricFamily {
        MetricFamily("\(count.rawValue)_total", .counter, count.meaning)
    }
}
