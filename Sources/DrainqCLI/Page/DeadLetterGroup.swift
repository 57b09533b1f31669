import Drain
import Policy
import Spool

/// Failed operations of one destination that failed for one cause.
struct DeadLetterGroup {
    /// The most failed operations that are read.
    static let most = 200

    var destination: String
    var cause: Cause
    var count: Int
    var first: Timestamp
    var last: Timestamp

    /// Reads failed operations, and returns their groups, the largest first.
    static func all(of queue: OpenQueue) throws(SpoolError) -> [DeadLetterGroup] {
        let known = try KnownDestinations(showing: queue.spool, queue.configuration, at: .now())
        let entries = try queue.spool.entries(OperationFilter(states: [.failed]), known).entries.prefix(most)
        var groups: [String: DeadLetterGroup] = [:]
        for entry in entries {
            // try?: a file that cannot be read is shown by `check`.
            guard let record = (try? queue.spool.attempts(of: entry))?.last else { continue }
            let (name, cause) = (known.table.destination(of: entry.name).name, Cause(record))
            let key = "\(name) \(cause.group)"
            if groups[key] == nil {
                groups[key] = DeadLetterGroup(
                    destination: name, cause: cause, count: 0, first: record.at, last: record.at)
            }
            groups[key]!.count += 1
            groups[key]!.first = min(groups[key]!.first, record.at)
            groups[key]!.last = max(groups[key]!.last, record.at)
        }
        return groups.values.sorted { ($1.count, $0.destination) < ($0.count, $1.destination) }
    }
}
