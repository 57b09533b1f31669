package import Policy
package import Spool

/// What the log says of the last days, for the page: counts of each half hour, and the changes. `state/day.json`.
///
/// The log is read once: a later reader reads only the lines after `offset`. A run without work reads none. Losing the
/// file costs one reading of the whole log.
package struct DayLog: Hashable, Sendable {
    /// The counts of one destination.
    package struct HalfHours: Hashable, Sendable, Codable {
        package var destination: String
        /// The counts by half hour since 1970: `[half hour, delivered, deferred, failed]`, the earliest first.
        package var counts: [[Int]] = []
    }

    /// The half hours and the time of changes that are kept, and the most destinations and changes.
    package static let halfHours = 50
    package static let days = Duration.seconds(7 * 86_400)
    static let (mostDestinations, mostChanges) = (1000, 400)

    /// The part of the log that has been read.
    private var inode = 0
    private var offset = 0
    package private(set) var rows: [HalfHours] = []
    /// The lines of changes.
    private var lines: [String] = []

    package init() {}

    /// Returns the index of the half hour of a time.
    package static func halfHour(_ time: Timestamp) -> Int {
        Int(saturating: (Double(time.microseconds) / 1_800_000_000).rounded(.down))
    }

    /// The changes, oldest first.
    package var changes: [LogEvent] { lines.compactMap { LogEvent(line: Array($0.utf8)) } }

    /// Reads what the log has got since.
    package func updated(from spool: SpoolDirectory, at now: Timestamp) throws(SpoolError) -> DayLog {
        guard let state = try spool.logState() else { return self }
        var updated = self
        let isSame = Int(truncatingIfNeeded: state.inode) == inode && state.size >= offset
        if isSame, state.size == offset { return self }
        if !isSame { updated = DayLog() }
        var indices = Dictionary(
            updated.rows.enumerated().map { ($1.destination, $0) }, uniquingKeysWith: { first, _ in first })
        let end = try spool.forEachLogLine(after: isSame ? offset : nil) { line in
            guard let event = LogEvent(line: line) else { return }
            updated.add(event, line, &indices)
        }
        (updated.inode, updated.offset) = (Int(truncatingIfNeeded: state.inode), end)
        updated.forget(before: now)
        return updated
    }

    private mutating func add(_ event: LogEvent, _ line: ArraySlice<UInt8>, _ indices: inout [String: Int]) {
        switch event.kind {
        case .attempts:
            guard let name = event.destination else { return }
            let half = Self.halfHour(event.at)
            if indices[name] == nil {
                if rows.count >= Self.mostDestinations { return }
                indices[name] = rows.count
                rows.append(HalfHours(destination: name))
            }
            let counts = [event.delivered ?? 0, (event.deferred ?? 0) + (event.held ?? 0), event.failed ?? 0]
            rows[indices[name]!].add(counts, at: half)
        case .run, .deferred: break
        default: lines.append(String(decoding: line, as: UTF8.self))
        }
    }

    private mutating func forget(before now: Timestamp) {
        let first = Self.halfHour(now) - Self.halfHours
        for index in rows.indices { rows[index].counts.removeAll { ($0.first ?? 0) < first } }
        rows.removeAll(where: \.counts.isEmpty)
        let start = (now - Self.days).rfc3339
        lines = lines.suffix(Self.mostChanges).filter { line in
            LogEvent(line: Array(line.utf8)).map { $0.at.rfc3339 >= start } ?? false
        }
    }
}

extension DayLog.HalfHours {
    fileprivate mutating func add(_ numbers: [Int], at half: Int) {
        if counts.last?[0] != half { counts.append([half, 0, 0, 0]) }
        let last = counts.count - 1
        for index in 1...3 {
            counts[last][index] = min(counts[last][index] + numbers[index - 1], LogEvent.largestNumber)
        }
    }
}

extension DayLog: StoredObject {
    package static let blank = DayLog()
    package static let fields: [StoredField<DayLog>] = [
        .version(1),
        .init("inode", \.inode, .required),
        .init("offset", \.offset, .required) { (read: Int) in read < 0 ? nil : read },
        .init("halfHours", \.rows, .required) { (read: [HalfHours]) in
            let isWhole = read.lazy.flatMap(\.counts).allSatisfy { counts in
                counts.count == 4 && counts.allSatisfy { 0...LogEvent.largestNumber ~= $0 }
            }
            return isWhole ? read : nil
        },
        .init("changes", \.lines, .required),
    ]

    /// Reads the file of a queue, with what the log has got since. Writes nothing.
    package static func read(from spool: SpoolDirectory, at now: Timestamp) throws(SpoolError) -> DayLog {
        try (StateFile.day.read(DayLog.self, in: spool) ?? DayLog()).updated(from: spool, at: now)
    }

    /// Writes the file anew if the log has got lines since, and returns it.
    package static func update(in spool: SpoolDirectory, at now: Timestamp) throws(SpoolError) -> DayLog {
        let before = try StateFile.day.read(DayLog.self, in: spool) ?? DayLog()
        let after = try before.updated(from: spool, at: now)
        if after != before, let bytes = StateFile.encode(after) { try StateFile.day.replace(with: bytes, in: spool) }
        return after
    }
}
