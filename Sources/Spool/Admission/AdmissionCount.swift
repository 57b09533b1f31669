import Policy

/// The operations that limits count: those of a queue, or of a batch.
struct AdmissionCount {
    /// The operations that count alone.
    var singles = 0
    /// The keys whose operations count as one; of a batch, those that the queue lacks. Hashes, for few bytes.
    var keys: Set<Int> = []
    var files = 0
    var bytes = 0

    var operations: Int { singles + keys.count }

    init() {}

    /// Counts an operation, or a key whose operations count as one, in or out.
    mutating func count(_ key: Int?, by sign: Int) {
        guard let key else { return singles += sign }
        if sign > 0 { keys.insert(key) } else { keys.remove(key) }
    }

    mutating func count(file size: Int, by sign: Int) {
        files += sign
        bytes += size
    }

    /// Counts the waiting operations of a queue. `key` returns the key of an operation that counts once with others.
    init(of queue: SpoolDirectory, withBytes: Bool, key: (EntryName) -> Int?) throws(SpoolError) {
        var paths: [String] = []
        // Hashes of ids: the listings may meet a moving operation twice.
        var met: Set<Int> = []
        for state in QueueState.standing {
            try queue.forEachEntry(in: state) { entry in
                guard met.insert(entry.name.id.hashValue).inserted else { return }
                if let key = key(entry.name) { keys.insert(key) } else { singles += 1 }
                files += 1
                if withBytes { paths.append(entry.path) }
            }
        }
        for path in paths { bytes +|= try queue.status(QueuePath(path), "look at")?.size ?? 0 }
    }
}
