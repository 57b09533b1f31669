import Policy
import Spool

/// The expiries of operations that wait for kept values, read from their files at most once in a run: names lack them.
package final class OwnExpiries {
    /// Upper bound on the files that a run opens for this.
    private static let mostRead = 10_000
    private var known: [OperationID: Timestamp] = [:]

    /// Returns `expiresAt` of an operation; `nil` if it has none, or if its file cannot be read or is one too many.
    func expiry(of entry: Entry, in spool: SpoolDirectory) -> Timestamp? {
        if let expiry = known[entry.name.id] { return expiry == .max ? nil : expiry }
        guard known.count < Self.mostRead else { return nil }
        var expiry: Timestamp?
        if case .operation(let stored)? = (try? spool.read(entry)).flatMap(\.self) {
            expiry = stored.operation.header.expiresAt
        }
        known[entry.name.id] = expiry ?? .max
        return expiry
    }
}

extension Timestamp {
    fileprivate static let max = Timestamp(microseconds: .max)
}
