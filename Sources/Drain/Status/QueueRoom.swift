import Policy
import Spool

/// What counts against the limits of a queue, as far as the queue has limits.
struct QueueRoom {
    private let limits: Limits
    private var singles = 0
    /// The groups whose operations count as one. Hashes, for few bytes.
    private var groups: Set<Int> = []
    private var files = 0
    private var bytes = 0

    init(_ limits: Limits) { self.limits = limits }

    /// Whether a limit needs the count.
    var isLimited: Bool { limits.operations != nil || limits.bytes != nil }

    /// Counts a waiting operation. `group` is that of its key if the key counts once.
    mutating func count(_ entry: Entry, group: SequenceKey?, in spool: SpoolDirectory) {
        if limits.operations != nil {
            if let group { groups.insert(group.hashValue) } else { singles += 1 }
        }
        if limits.bytes != nil {
            files += 1
            // try?: a file that cannot be looked at is about to leave its place.
            bytes +|= (try? spool.size(of: entry)) ?? 0
        }
    }

    /// Returns the limit that keeps an operation of usual size out; `nil` if there is room, or older ones make room.
    func fullLimit(in spool: SpoolDirectory) throws(SpoolError) -> FullLimit? {
        if limits.whenFull == .dropOldest { return nil }
        if let limit = limits.operations, singles +| groups.count >= limit { return .operations(limit) }
        if let limit = limits.bytes, bytes +| max(1, bytes / max(1, files)) > limit { return .bytes(limit) }
        if let limit = limits.minimumFree, try spool.freeBytes <= limit { return .minimumFree(limit) }
        return nil
    }
}
