import Drain
import Policy

/// The figures of `status --check`, as performance data of monitoring plugins: `waiting=3 oldest=12s`.
enum CheckFigures {
    static func text(of status: QueueStatus, at now: Timestamp) -> String {
        let health = status.health
        func age(_ time: Timestamp?) -> String? {
            time.map { "\(Int(saturating: max(now - $0, .zero).inSeconds))s" }
        }
        let figures: [(String, String?)] = [
            ("waiting", "\(health.waiting)"), ("due", "\(health.due)"), ("oldest", age(health.oldest) ?? "0s"),
            ("failed", "\(health.states[.failed] ?? 0)"), ("quarantined", "\(health.states[.quarantined] ?? 0)"),
            ("in_trouble", "\(health.troubles.count)"), ("last_run", age(health.runs.last(at: now))),
            ("delivered", "\(status.deliveredTotal)c"),
        ]
        return figures.compactMap { name, figure in figure.map { "\(name)=\($0)" } }.joined(separator: " ")
    }
}
