package import Policy
import Spool

/// The operations that were due in runs which put them back untried, each with its reason: `state/withheld.json`.
///
/// ```
/// { "version": 1, "operations": [ { "id": "6f96…", "since": time, "reason": "…" } ] }
/// ```
/// Only whoever shows the queue reads the file, and only for operations that are still due: an operation that has gone,
/// or waits for its next attempt, needs no removal here. Losing the file costs what `status` knows until the next run.
package struct WithheldOperations: Hashable, Sendable {
    package struct Entry: Hashable, Sendable {
        package var id: OperationID
        /// The time of the first run that did not send the operation.
        package var since: Timestamp
        package var reason: String
    }

    /// The most operations that are kept, the latest.
    package static let most = 1000

    private(set) var entries: [Entry] = []

    package init() {}

    /// Adds the operations that a pass has put back.
    mutating func add(_ reasons: [OperationID: String], at now: Timestamp) {
        for (id, reason) in reasons.sorted(by: { $0.key.description < $1.key.description }) {
            if let index = entries.firstIndex(where: { $0.id == id }) {
                entries[index].since = min(entries[index].since, now)
                entries[index].reason = reason
            } else {
                entries.append(Entry(id: id, since: now, reason: reason))
            }
        }
        entries.removeFirst(max(0, entries.count - Self.most))
    }

    /// Returns the operations by id.
    static func read(from spool: SpoolDirectory) throws(SpoolError) -> [OperationID: Entry] {
        let entries = try StateFile.withheld.read(WithheldOperations.self, in: spool)?.entries ?? []
        return Dictionary(entries.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    }

    static func note(_ reasons: [OperationID: String], in spool: SpoolDirectory, at now: Timestamp) {
        if reasons.isEmpty { return }
        // try?: the cause is told already, and no result of a run depends on the file.
        try? StateFile.withheld.update(WithheldOperations(), in: spool) { $0.add(reasons, at: now) }
    }
}

extension WithheldOperations: StoredObject {
    package static let blank = WithheldOperations()
    package static let fields: [StoredField<WithheldOperations>] = [
        .version(1), .init("operations", \.entries, .required),
    ]
}

extension WithheldOperations.Entry: StoredObject {
    package static let blank = Self(id: OperationID("0")!, since: Timestamp(microseconds: 0), reason: "")
    package static let fields: [StoredField<Self>] = [
        .init("id", \.id, .required),
        .init("since", \.since, .required),
        .init("reason", \.reason, .always),
    ]
}
