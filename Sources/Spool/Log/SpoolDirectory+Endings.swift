import CSystem
package import Policy

/// How operations ended that left the queue.
package struct Endings: Sendable {
    package enum Ending: Hashable, Sendable {
        /// `isKept`: its copy was to be kept in `delivered/`.
        case delivered(EntryName, at: Timestamp, isKept: Bool)
        /// The operation left the queue without a delivery.
        case event(LogEvent)

        package var at: Timestamp {
            switch self {
            case .delivered(_, let at, isKept: _): at
            case .event(let event): event.at
            }
        }

        /// Whether a delivery whose line comes later is the later ending. Lines of two files have only their times.
        fileprivate func isBefore(_ delivery: Timestamp) -> Bool {
            switch self {
            case .delivered: true
            case .event(let event): event.at <= delivery
            }
        }

        /// The creation of the operation.
        package var createdAt: Timestamp? {
            switch self {
            case .delivered(let name, at: _, isKept: _): name.createdAt
            case .event(let event): event.since
            }
        }
    }

    /// The last ending of each id that has one.
    package var last: [OperationID: Ending] = [:]
    /// The time from which on each ending has its line; `nil` if all endings have one.
    package var since: Timestamp?
}

/// `state/log/ended` and `ended-earlier`: a line for each operation that left the queue without a delivery. `delivered`
/// and `delivered-earlier`: a line for each delivered one.
///
/// The door out (`Departure`) adds the line before it removes the file, and a run the line of a delivery before it
/// marks the claim (`Receipt`). If a line cannot be added, as on a full disk, the operation goes all the same, and the
/// log's lock file gets the time, for which there was room before: how operations ended until then is not known.
extension SpoolDirectory {
    private static let endedFile = QueuePath("state/log/ended")
    private static let earlierEndedFile = QueuePath("state/log/ended-earlier")
    private static let deliveredFile = QueuePath("state/log/delivered")
    private static let earlierDeliveredFile = QueuePath("state/log/delivered-earlier")
    private static let lengthOfTime = 64

    /// Adds the lines of operations that are about to leave the queue.
    func noteEndings(_ events: [LogEvent]) {
        guard let now = events.last?.at else { return }
        do throws(SpoolError) {
            let lock = try lockLog()
            defer { lock.release() }
            lock.reserve(Self.lengthOfTime)
            try append(events, to: Self.endedFile, Self.earlierEndedFile, .ofEndings, now)
        } catch {
            noteUnknownEndings(until: now)
        }
    }

    private func noteUnknownEndings(until now: Timestamp) {
        // try?: without its lock file the log is damaged, and how operations ended is not known.
        try? LockFile(Self.logLock, self).write(Array(now.rfc3339.utf8) + [UInt8(ascii: "\n")])
    }

    /// Adds the lines of operations that an answer has delivered: the time, a space (a `=` if the copy is to be kept),
    /// and the name of the file. Takes no lock on a local file system, where a write at the end of a file is one step.
    /// A line begins with a line break, too: it ends one that a crash has torn.
    func noteDeliveries(of claims: [Claim], keep: Bool, at now: Timestamp) {
        let time = now.compactMicroseconds
        var lines: [UInt8] = []
        lines.reserveCapacity(claims.count * 256)
        for claim in claims {
            lines.append(UInt8(ascii: "\n"))
            lines += time.utf8
            lines.append(UInt8(ascii: keep ? "=" : " "))
            lines += claim.fileName.utf8
            lines.append(UInt8(ascii: "\n"))
        }
        do throws(SpoolError) {
            var lock = fileSystem.isLocal ? nil : try lockLog()
            defer { lock?.release() }
            let size: Int
            do throws(SpoolError) { size = try append(lines) } catch let error where error.code == Errno.missing.code {
                try attempt("write", Self.deliveredFile) { () throws(Errno) in try makeLogDirectory() }
                size = try append(lines)
            }
            if size < LogLimits.ofDeliveries.maxBytes / 2 { return }
            if lock == nil { lock = try lockLog() }
            try attempt("write", Self.deliveredFile) { () throws(Errno) in
                try rotate(Self.deliveredFile, Self.earlierDeliveredFile, .ofDeliveries, now)
            }
        } catch {
            noteUnknownEndings(until: now)
        }
    }

    /// Returns the size of the file before.
    private func append(_ lines: [UInt8]) throws(SpoolError) -> Int {
        let flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW
        return try attempt("write", Self.deliveredFile) { () throws(Errno) in
            try Self.withDescriptor(system, root, Self.deliveredFile, flags) { (descriptor) throws(Errno) in
                let size = try system.status(descriptor).size
                if size == 0 { try system.chmod(descriptor, 0o600) }
                try write(descriptor, lines)
                return size
            }
        }
    }

    /// Takes back the lines of operations that have stayed: a run was faster.
    func takeBackEndings(_ events: [LogEvent]) {
        if events.isEmpty { return }
        noteEndings(
            events.map {
                var event = $0
                event.kind = .recovered
                return event
            })
    }

    /// Returns how operations with these ids ended last.
    package func endings(of ids: Set<OperationID>) throws(SpoolError) -> Endings {
        var endings = Endings()
        for file in [Self.earlierEndedFile, Self.endedFile] {
            guard let bytes = try readFile(file, limit: Self.mostOfLog) else { continue }
            for line in bytes.split(separator: UInt8(ascii: "\n")) {
                guard let event = LogEvent(line: line) else { continue }
                // The lines of an earlier time are forgotten.
                if file == Self.earlierEndedFile, endings.since == nil { endings.since = event.at }
                guard let id = event.ids.first.flatMap(OperationID.init), ids.contains(id) else { continue }
                endings.last[id] = event.kind == .recovered ? nil : .event(event)
            }
        }
        try readDeliveries(of: ids, &endings)
        let unnoted = try readFile(Self.logLock, limit: 256).flatMap {
            Timestamp(rfc3339: String(decoding: $0.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
        }
        endings.since = [endings.since, unnoted].compactMap(\.self).max()
        return endings
    }

    private func readDeliveries(of ids: Set<OperationID>, _ endings: inout Endings) throws(SpoolError) {
        let lengthOfTime = Timestamp.compactMicrosecondsLength
        for file in [Self.earlierDeliveredFile, Self.deliveredFile] {
            guard let bytes = try readFile(file, limit: Self.mostOfLog) else { continue }
            var isFirst = file == Self.earlierDeliveredFile
            for line in bytes.split(separator: UInt8(ascii: "\n")) where line.count > lengthOfTime {
                line.withUnsafeBufferPointer { line in
                    guard let at = Timestamp(compactMicroseconds: .init(rebasing: line[..<lengthOfTime])),
                        let name = ListedName(.init(rebasing: line[(lengthOfTime + 1)...]))
                    else { return }
                    if isFirst { endings.since = max(endings.since ?? at, at) }
                    isFirst = false
                    // The later line of two deliveries counts, whatever the clock said.
                    guard ids.contains(name.id), endings.last[name.id].map({ $0.isBefore(at) }) ?? true else { return }
                    let isKept = line[lengthOfTime] == UInt8(ascii: "=")
                    endings.last[name.id] = .delivered(EntryName(name), at: at, isKept: isKept)
                }
            }
        }
    }
}
