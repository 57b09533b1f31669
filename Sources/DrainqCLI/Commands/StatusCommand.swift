import Policy
import Spool

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// `drainq status`: what waits, where, since when, and how the last run ended.
func status(_ command: ParsedCommand, environment: [String: String]) throws(CommandFailure) -> ExitStatus {
    try failing {
        let queue = try OpenQueue(command, environment)
        let view = try QueueStatus(of: queue)
        if command.flag(.json) { JSONLine.write(view) } else { tell(view) }
        return .ok
    }
}

/// The object of `status --json`, schema 1.
private struct QueueStatus: Encodable {
    struct Waiting: Encodable {
        var destination: String
        var new = 0
        var deferred = 0
        var claimed = 0
        var failed = 0
        var oldest: String?
        var nextDue: String?
    }

    var schema = 1
    var queue: String
    var paused: Bool
    var states: [String: Int] = [:]
    var destinations: [Waiting] = []
    var oldest: String?
    var nextDue: String?
    /// Waiting operations that may be tried now.
    var due = 0
    var lastRun: SummaryView?

    init(of queue: OpenQueue) throws {
        self.queue = queue.spool.path
        paused = try queue.spool.isPaused
        let table = DestinationTable(queue.configuration)
        let now = Timestamp.now()
        var waiting: [Digest: Waiting] = [:]
        var oldestOf: [Digest: Timestamp] = [:]
        var nextOf: [Digest: Timestamp] = [:]
        var due = 0
        for state in QueueState.allCases where state != .quarantine {
            var count = 0
            let foreign = try queue.spool.forEachEntry(in: state) { entry in
                count += 1
                let destination = table.destination(of: entry.name)
                let digest = destination.digest
                var row = waiting[digest] ?? Waiting(destination: destination.name)
                switch state {
                case .new: row.new += 1
                case .deferred: row.deferred += 1
                case .claimed: row.claimed += 1
                case .failed: row.failed += 1
                case .quarantine, .delivered: return
                }
                waiting[digest] = row
                if state == .failed { return }
                oldestOf[digest] = min(oldestOf[digest] ?? entry.name.createdAt, entry.name.createdAt)
                if state == .claimed { return }
                let longest = queue.configuration.route(of: entry.name.type).longestDelay
                switch eligibility(of: entry.name, at: now, longestDelay: longest, ignoringBackoff: false) {
                case .due:
                    due += 1
                    nextOf[digest] = min(nextOf[digest] ?? now, now)
                case .held: break
                case .deferred(let until): nextOf[digest] = min(nextOf[digest] ?? until, until)
                }
            }
            if state == .new { due += foreign }
            states[state.word] = state == .new ? count + foreign : count
        }
        states[QueueState.quarantine.word] = try queue.spool.quarantined().count
        self.due = due
        oldest = oldestOf.values.min()?.rfc3339
        nextDue = nextOf.values.min()?.rfc3339
        destinations = waiting.map { digest, row in
            var row = row
            row.oldest = oldestOf[digest]?.rfc3339
            row.nextDue = nextOf[digest]?.rfc3339
            return row
        }.sorted { $0.destination < $1.destination }
        // A remembered run that cannot be read is no reason to refuse the status.
        if let bytes = try queue.spool.readState("last-run.json") {
            lastRun = try? JSONDecoder().decode(SummaryView.self, from: Data(bytes))
        }
    }
}

private func tell(_ view: QueueStatus) {
    let now = Timestamp.now()
    func words(_ text: String?) -> String {
        text.flatMap { Timestamp(rfc3339: $0) }.map { InWords.moment($0, from: now) } ?? "-"
    }
    if view.paused { standardOutput.line("paused: no run attempts anything") }
    let counts = QueueState.allCases.compactMap { state -> String? in
        guard let count = view.states[state.word], count > 0 else { return nil }
        return "\(count) \(state.word)"
    }
    standardOutput.line(counts.isEmpty ? "empty" : counts.joined(separator: ", "))
    if !view.destinations.isEmpty {
        let rows = view.destinations.map {
            [
                $0.destination, "\($0.new)", "\($0.deferred)", "\($0.claimed)", "\($0.failed)", words($0.oldest),
                words($0.nextDue),
            ]
        }
        Table(columns: ["DESTINATION", "NEW", "DEFERRED", "CLAIMED", "FAILED", "OLDEST", "NEXT DUE"], rows: rows)
            .write()
    }
    if let last = view.lastRun {
        standardOutput.line(
            "last run \(words(last.startedAt)): \(last.delivered) delivered, \(last.deferred) deferred, \(last.failed) failed, "
                + "\(last.held) held; exit status \(last.exitStatus)")
    }
}
