import CSystem
package import Policy

/// `state/log/`: what happened, one event a line, in two files. `events` gets the new lines; `earlier` has the lines of
/// the time before. `ended` and `ended-earlier` are such files, too (`SpoolDirectory+Endings`).
///
/// A writer appends all lines of an event in one write, under the lock on `state/log/lock`, and syncs nothing: a power
/// cut may lose the last lines or tear a line. A writer that finds `events` half as large or half as old as the log may
/// be renames `events` to `earlier`, and so replaces the earlier file. After a crash both files are whole, and the next
/// writer goes on.
extension SpoolDirectory {
    private static let logDirectory = QueuePath("state/log")
    private static let logFile = QueuePath("state/log/events")
    private static let earlierLogFile = QueuePath("state/log/earlier")
    static let logLock = QueuePath("state/log/lock")
    /// The most bytes read of a file of the log: drainq writes no larger log.
    static let mostOfLog = 1 << 30

    /// Appends events to the log. No result of a run depends on the log: the caller reports an error, and goes on.
    ///
    /// Throws EWOULDBLOCK if the lock is not free within a second.
    package func log(_ events: [LogEvent], upTo limits: LogLimits, at now: Timestamp) throws(SpoolError) {
        if events.isEmpty { return }
        let lock = try lockLog()
        defer { lock.release() }
        try append(events, to: Self.logFile, Self.earlierLogFile, limits, now)
    }

    /// Appends events to a file of the log. The caller has the log's lock.
    func append(
        _ events: [LogEvent], to file: QueuePath, _ earlier: QueuePath, _ limits: LogLimits, _ now: Timestamp
    ) throws(SpoolError) {
        try attempt("write", file) { () throws(Errno) in
            try rotate(file, earlier, limits, now)
            try Self.withDescriptor(system, root, file, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW) {
                (descriptor) throws(Errno) in
                // A line that a crash has torn ends here, and is skipped by readers.
                let size = try system.status(descriptor).size
                if size == 0 { try system.chmod(descriptor, 0o600) }
                let isTorn = size > 0 ? try !endsLine(file, size) : false
                try write(descriptor, (isTorn ? [UInt8(ascii: "\n")] : []) + events.flatMap(\.line))
            }
        }
    }

    /// Calls `body` with each line of the log, oldest first, without its line break.
    package func forEachLogLine(_ body: (ArraySlice<UInt8>) -> Void) throws(SpoolError) {
        for file in [Self.earlierLogFile, Self.logFile] {
            guard let bytes = try readFile(file, limit: Self.mostOfLog) else { continue }
            for line in bytes.split(separator: UInt8(ascii: "\n")) { body(line) }
        }
    }

    /// Calls `body` with each whole line after an offset of the file that gets the new lines, or with all lines of the
    /// log. Returns the offset of the next line.
    package func forEachLogLine(
        after offset: Int?, _ body: (ArraySlice<UInt8>) -> Void
    ) throws(SpoolError) -> Int {
        if offset == nil, let bytes = try readFile(Self.earlierLogFile, limit: Self.mostOfLog) {
            for line in bytes.split(separator: UInt8(ascii: "\n")) { body(line) }
        }
        guard let bytes = try readFile(Self.logFile, limit: Self.mostOfLog) else { return 0 }
        let start = min(offset ?? 0, bytes.count)
        let end = bytes.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        if start < end { for line in bytes[start..<end].split(separator: UInt8(ascii: "\n")) { body(line) } }
        return max(start, end)
    }

    /// The size and the identity of the file that gets the new lines; `nil` if there is none. `log --follow` reads the
    /// log again when it has changed.
    package func logState() throws(SpoolError) -> FileStatus? {
        try status(Self.logFile, "look at")
    }

    func lockLog() throws(SpoolError) -> LockFile {
        let path = Self.logLock
        return try attempt("lock", path) { () throws(Errno) in
            let lock: LockFile
            do throws(Errno) {
                lock = try LockFile(path, self)
            } catch let error where error == .missing {
                try makeLogDirectory()
                lock = try LockFile(path, self)
            }
            let pause: Duration = .milliseconds(5)
            var waited: Duration = .zero
            while try !lock.tryLock() {
                if waited >= .seconds(1) { throw Errno(EWOULDBLOCK) }
                system.sleep(pause)
                waited += pause
            }
            return lock
        }
    }

    /// Makes the directory, which queues that an earlier version has made lack.
    func makeLogDirectory() throws(Errno) {
        do throws(Errno) {
            try system.makeDirectory(root, Self.logDirectory.bytes, 0o700)
        } catch let error where error == .exists {}
    }

    /// Begins a new file if the present one has its share of the log's size or age, and removes an earlier file that is
    /// too old.
    func rotate(_ file: QueuePath, _ earlier: QueuePath, _ limits: LogLimits, _ now: Timestamp) throws(Errno) {
        if let status = try statusIfAny(earlier), now - status.modifiedAt > limits.maxAge {
            try system.unlink(root, earlier.bytes)
        }
        guard let status = try statusIfAny(file), status.size > 0 else { return }
        guard status.size >= limits.maxBytes / 2 || isHalfAsOld(file, as: limits.maxAge, now) else { return }
        try replace(file, earlier)
    }

    /// Whether the first event of the present file is older than half of this age. False if the event cannot be read.
    private func isHalfAsOld(_ file: QueuePath, as age: Duration, _ now: Timestamp) -> Bool {
        var head = [UInt8](repeating: 0, count: LogEvent.longestLine)
        // try?: the file is then appended to as it is, and its size bounds it.
        let count = try? Self.withDescriptor(system, root, file, O_RDONLY | O_NOFOLLOW) {
            (descriptor) throws(Errno) in try read(descriptor, into: &head, from: 0)
        }
        guard let count, let end = head[..<count].firstIndex(of: UInt8(ascii: "\n")),
            let first = LogEvent(line: head[..<end])
        else { return false }
        return now - first.at > age / 2
    }

    private func endsLine(_ path: QueuePath, _ size: Int) throws(Errno) -> Bool {
        var last: [UInt8] = [0]
        let count = try Self.withDescriptor(system, root, path, O_RDONLY | O_NOFOLLOW) {
            (descriptor) throws(Errno) in try read(descriptor, into: &last, from: size - 1)
        }
        return count == 1 && last[0] == UInt8(ascii: "\n")
    }

    private func statusIfAny(_ path: QueuePath) throws(Errno) -> FileStatus? {
        do throws(Errno) {
            return try system.statusAt(root, path.bytes)
        } catch let error where error == .missing {
            return nil
        }
    }
}
