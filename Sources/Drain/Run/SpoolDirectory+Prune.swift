import Policy
import Spool

extension SpoolDirectory {
    /// Removes failed and delivered operations and kept values that are older than their retention. Lists `failed/` and
    /// the kept values no more often than the retention needs. Returns the errors: an error with a file, or in one of
    /// the three searches, leaves the others.
    func prune(by configuration: Configuration, now: Timestamp) -> [SpoolError] {
        var errors: [SpoolError] = []
        func trying(_ work: () throws(SpoolError) -> Void) {
            do throws(SpoolError) { try work() } catch { errors.append(error) }
        }
        // First: the copies may be what fills the disk. Also with a retention of zero: an earlier configuration may
        // have kept copies.
        trying { () throws(SpoolError) in
            try prune(.delivered, olderThan: now - configuration.keepsDeliveredFor, at: now)
        }
        trying { () throws(SpoolError) in
            let last = try StateFile.retention.contents(in: self).flatMap { RetentionFindings($0) }
            let keepsValues = try !keptKeys().isEmpty
            guard let search = configuration.retention.search(last: last?.at, keepsValues: keepsValues, now: now) else {
                return
            }
            var findings = RetentionFindings(at: now, after: last)
            func mayGo(_ path: String, _ age: Retention.Search.Age) -> Bool { !age.isTwice || findings.find(path) }
            if let age = search.kept {
                trying { () throws(SpoolError) in
                    try pruneKept(olderThan: age.limit, at: now, by: configuration) { mayGo($0, age) }
                }
            }
            if let age = search.failed {
                trying { () throws(SpoolError) in
                    try prune(.failed, olderThan: age.limit, at: now) { mayGo($0, age) }
                }
            }
            if search.isRemembered {
                try StateFile.retention.replace(with: findings.encoded, durable: true, in: self)
            }
        }
        return errors
    }
}
