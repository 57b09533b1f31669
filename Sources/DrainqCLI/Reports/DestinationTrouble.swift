import Drain
import Policy

/// What is wrong with a destination now, for the first line of `status`.
struct DestinationTrouble {
    enum Kind: Int {
        /// A person or a credential is needed.
        case held
        /// It has not answered since its last failure.
        case down
        case paused
    }

    var destination: String
    var kind: Kind
    var since: Timestamp?
    /// The cause in a few words; empty if there is none.
    var cause: String
    /// The number of operations that wait for it.
    var waiting: Int

    /// Returns the troubles of a queue, the worst first: a hold before an outage, and the longest first of each.
    static func all(of status: QueueStatus) -> [DestinationTrouble] {
        let holds = Dictionary(status.holds.map { ($0.destination, $0) }, uniquingKeysWith: { first, _ in first })
        let troubles = status.destinations.compactMap { row -> DestinationTrouble? in
            func trouble(_ kind: Kind, since: Timestamp?, _ cause: String) -> DestinationTrouble {
                DestinationTrouble(
                    destination: row.name, kind: kind, since: since,
                    cause: cause, waiting: row.waiting)
            }
            if let hold = holds[row.name] { return trouble(.held, since: hold.hold.since, hold.hold.reason) }
            if row.state.failures > 0 {
                return trouble(.down, since: row.state.downSince, row.state.lastFailure ?? "")
            }
            return row.state.isPaused ? trouble(.paused, since: nil, "") : nil
        }
        return troubles.sorted { left, right in
            let far = Timestamp(microseconds: .max)
            return (left.kind.rawValue, left.since ?? far, left.destination)
                < (right.kind.rawValue, right.since ?? far, right.destination)
        }
    }

    /// The destination and what is wrong with it: `crm held for 5m (401 token expired)`.
    func words(at now: Timestamp) -> String {
        let age = since.map { " for \(InWords.rough(max(now - $0, .zero)))" } ?? ""
        let short = cause.count > Self.mostOfCause ? cause.prefix(Self.mostOfCause - 1) + "…" : cause[...]
        return "\(destination) \(kind)\(age)\(cause.isEmpty ? "" : " (\(short))")"
    }

    /// Returns the first line of a status: what is wrong, the worst first, or that all is well.
    static func verdict(_ troubles: [DestinationTrouble], of status: QueueStatus, at now: Timestamp) -> String {
        var parts: [String] = []
        if status.paused { parts.append("the queue is paused") }
        if !troubles.isEmpty {
            let shown = troubles.prefix(mostShown).map { $0.words(at: now) }.joined(separator: ", ")
            let more = troubles.count > mostShown ? ", and \(troubles.count - mostShown) more" : ""
            parts.append(
                "\(troubles.count) of \(InWords.count(status.destinations.count, "destination")) in trouble: \(shown)\(more)"
            )
        }
        if let reason = status.conditions { parts.append(reason) }
        for (state, word) in [(ShownState.failed, "failed"), (.quarantined, "in quarantine")] {
            let count = status.states[state.rawValue] ?? 0
            if count > 0 { parts.append("\(count) \(word)") }
        }
        if status.heldByThemselves > 0 { parts.append("\(status.heldByThemselves) held individually") }
        return parts.isEmpty ? allIsWell : parts.joined(separator: "; ")
    }

    private static let mostShown = 3
    /// The most characters of a cause in the verdict; the line below has all of it.
    private static let mostOfCause = 80
    /// The verdict of a queue in which nothing is wrong.
    static let allIsWell = "all is well"
}
