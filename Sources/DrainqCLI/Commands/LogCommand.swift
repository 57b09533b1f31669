import Dispatch
import Drain
import Policy
import Spool

/// Performs `drainq log`: tells what happened, and with `--follow` what happens.
func log(_ arguments: LogArguments, environment: [String: String]) throws(CommandFailure) -> ExitStatus {
    try failing {
        let queue = try OpenQueue(arguments.queue, environment)
        let known = try queue.knownDestinations()
        let now = Timestamp.now()
        let choice = LogChoice(
            since: arguments.since?.timestamp(now: now), until: arguments.until?.timestamp(now: now),
            destinations: Set(try arguments.destinations.map { try known.destination(named: $0).name }),
            types: Set(arguments.types.map { "\($0)" }), ids: Set(arguments.ids.map { "\($0)" }))
        var reader = LogReader(queue: queue)
        var story = LogStory(tellsRuns: arguments.verbosity.isVerbose) { standardOutput.line($0) }
        func tell(_ events: [LogEvent]) {
            // A run writes a change at once, and the attempts of a minute after it.
            let ordered = events.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }
            for (_, event) in ordered where choice.takes(event) {
                if arguments.isJSON { JSONLine.write(LogView(event: event)) } else { story.tell(event) }
            }
            story.flush()
        }
        tell(try reader.read())
        if reader.unread > 0 {
            Messages.warning(
                "\(InWords.count(reader.unread, "line")) of the log cannot be read: torn, or of a newer version")
        }
        guard arguments.isFollowing else { return .ok }
        let stopped = DispatchSemaphore(value: 0)
        let signals = StopSignals { stopped.signal() }
        defer { signals.restore() }
        while !signals.received {
            standardOutput.flush()
            if standardOutput.isClosed || stopped.wait(timeout: .now() + 1) == .success { break }
            tell(try reader.read())
        }
        return .ok
    }
}

/// The lines that the options choose.
private struct LogChoice {
    var since: Timestamp?
    var until: Timestamp?
    var destinations: Set<String>
    var types: Set<String>
    var ids: Set<String>

    func takes(_ event: LogEvent) -> Bool {
        if let since, event.at < since { return false }
        if let until, event.at >= until { return false }
        if !destinations.isEmpty, !(event.destination.map(destinations.contains) ?? false) { return false }
        if !types.isEmpty, !(event.type.map(types.contains) ?? false) { return false }
        return ids.isEmpty || !ids.isDisjoint(with: event.ids)
    }
}

/// The log, read to its end; another call reads what was added since.
private struct LogReader {
    let queue: OpenQueue
    /// The number of lines that were read, and the file that had the last of them.
    private var count = 0
    private var state: FileStatus?
    /// The number of lines that are no events.
    private(set) var unread = 0

    init(queue: OpenQueue) { self.queue = queue }

    mutating func read() throws(SpoolError) -> [LogEvent] {
        let state = try queue.spool.logState()
        if let known = self.state, state?.size == known.size, state?.inode == known.inode { return [] }
        var events: [LogEvent] = []
        var (lines, unread) = (0, self.unread)
        let known = count
        try queue.spool.forEachLogLine { line in
            lines += 1
            if lines <= known { return }
            if let event = LogEvent(line: line) { events.append(event) } else { unread += 1 }
        }
        // Lines of before have been removed: what is there now is new.
        if lines < known {
            (count, self.state) = (0, nil)
            return try read()
        }
        (count, self.state, self.unread) = (lines, state, unread)
        return events
    }
}
