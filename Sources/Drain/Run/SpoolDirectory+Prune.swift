import Policy
import Spool

extension SpoolDirectory {
    /// Removes failed and delivered operations and kept values that are older than their retention. Lists `failed/` and
    /// the kept values no more often than the retention needs.
    func prune(by configuration: Configuration, now: Timestamp) throws(SpoolError) {
        let last = try StateFile.retention.contents(in: self).flatMap {
            Timestamp(rfc3339: String(decoding: $0, as: UTF8.self).filter { !$0.isNewline })
        }
        let keepsValues = try !keptKeys().isEmpty
        if let search = configuration.retention.search(last: last, keepsValues: keepsValues, now: now) {
            if let limit = search.keptLimit { try pruneKept(olderThan: limit, at: now, by: configuration) }
            if let limit = search.limit { _ = try prune(.failed, olderThan: limit) }
            if search.isRemembered {
                try StateFile.retention.replace(with: Array("\(now.rfc3339)\n".utf8), durable: true, in: self)
            }
        }
        // Also with a retention of zero: an earlier configuration may have kept copies.
        _ = try prune(.delivered, olderThan: now - configuration.keepsDeliveredFor)
    }
}
