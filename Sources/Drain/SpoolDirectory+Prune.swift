import Policy
import Spool

extension SpoolDirectory {
    /// Removes what has been kept long enough. Of `failed/` that is looked for no more often than `retention` says.
    func prune(by retention: Retention, now: Timestamp) throws(SpoolError) {
        let last = try StateFile.retention.contents(in: self).flatMap {
            Timestamp(rfc3339: String(decoding: $0, as: UTF8.self).filter { !$0.isNewline })
        }
        if let look = retention.look(last: last, now: now) {
            if let limit = look.limit { _ = try prune(.failed, olderThan: limit) }
            if look.isRemembered {
                try StateFile.retention.replace(with: Array("\(now.rfc3339)\n".utf8), durable: true, in: self)
            }
        }
        if retention.delivered > .zero { _ = try prune(.delivered, olderThan: now - retention.delivered) }
    }
}
