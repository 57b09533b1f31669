import Policy
import Spool

extension SpoolDirectory {
    /// Removes failed and delivered operations and kept values that are older than their retention. Lists `failed/` and
    /// the kept values no more often than the retention needs.
    func prune(by configuration: Configuration, now: Timestamp) throws(SpoolError) {
        let last = try StateFile.retention.contents(in: self).flatMap { RetentionFindings($0) }
        let keepsValues = try !keptKeys().isEmpty
        if let search = configuration.retention.search(last: last?.at, keepsValues: keepsValues, now: now) {
            var findings = RetentionFindings(at: now, after: last)
            if let age = search.kept {
                try pruneKept(olderThan: age.limit, at: now, by: configuration) {
                    !age.isTwice || findings.find($0)
                }
            }
            if let age = search.failed {
                _ = try prune(.failed, olderThan: age.limit) { !age.isTwice || findings.find($0) }
            }
            if search.isRemembered {
                try StateFile.retention.replace(with: findings.encoded, durable: true, in: self)
            }
        }
        // Also with a retention of zero: an earlier configuration may have kept copies.
        _ = try prune(.delivered, olderThan: now - configuration.keepsDeliveredFor)
    }
}
