import Drain
import Policy
import Spool

struct LogCommand: Command {
    static let name = "log"

    var since: PointInTime?
    var until: PointInTime?
    var destinations: [String] = []
    var types: [TypeName] = []
    var ids: [OperationID] = []
    var isFollowing = false
    var global = GlobalOptions()

    static var options: [Option<Self>] {
        Option(
            .since, .time(.past), \.since, "from this time on",
            "Only what happened at this time or later; `2h` is two hours ago.")
        Option(
            .until, .time(.past), \.until, "before this time",
            "Only what happened before this time.")
        Option(
            .destination, .destination, each: \.destinations, "at this destination",
            "Only what happened at this destination, by its name as `drainq status` shows it; given more than once, at any of these."
        )
        Option(
            .type, short: "t", .typeName, each: \.types, "of this type",
            "Only lines about operations of this type; given more than once, of any of these.")
        Option(
            .id, .operationID, each: \.ids, "about this operation",
            "Only lines that name this operation; a line names at most ten.")
        Option(
            .follow, short: "f", \.isFollowing, "wait for more until interrupted",
            "Goes on with the lines that are added from now on, until SIGINT or until the reader has gone.")
        GlobalOptions.options.map { $0.within(\.global) }
    }

    static let description = CommandDescription(
        Self.self, "show what happened",
        """
        Tells what happened in the queue, oldest first, a line for each change: destinations that went down, came up, \
        were held, released, paused or resumed, or leave HTTP/2 for a day, each with the cause; operations that failed \
        for good, went into quarantine or made room, by cause, with their number; what dead runs had claimed; and what \
        operators' commands changed. Between two changes a line says how many operations were delivered, how many were \
        deferred, and how long that took. With --verbose it also shows each run that had work, and changes of the \
        configuration.

        Runs and commands write the log; it keeps at most `log.maxBytes` (10 MB) and the lines of `log.maxAge` (30 \
        days). It is not synced: a power cut may lose the last lines. Attempts are counted by minute and destination, \
        and not listed: `drainq show` lists those of an operation.
        """,
        onlyPrints: true,
        examples: [
            Example("drainq log --since 2h", "what happened in the last two hours"),
            Example("drainq log --destination https://api.example.com", "the story of a destination"),
            Example("drainq log --follow --json", "every new line, for another program"),
        ])

    func perform(environment: [String: String]) throws -> ExitStatus {
        let queue = try OpenQueue.showing(global, environment)
        queue.reportBrokenConfiguration()
        let known = try KnownDestinations(showing: queue.spool, queue.configuration, at: .now())
        let now = Timestamp.now()
        let choice = LogChoice(
            since: since?.timestamp(now: now), until: until?.timestamp(now: now),
            destinations: Set(try destinations.map { try known.destination(named: $0).name }),
            types: Set(types.map { "\($0)" }), ids: Set(ids.map { "\($0)" }))
        var reader = LogReader(queue: queue)
        var story = LogStory(tellsRuns: global.verbosity.isVerbose) { standardOutput.line($0) }
        func tell(_ events: [LogEvent]) {
            // A run writes a change at once, and the attempts of a minute after it.
            let ordered = events.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }
            for (_, event) in ordered where choice.takes(event) {
                if global.isJSON { JSONLine.write(LogView(event: event)) } else { story.tell(event) }
            }
            story.flush()
        }
        let events = try reader.read()
        tell(events)
        if !events.contains(where: choice.takes), !global.verbosity.isQuiet {
            for (text, hint) in try queue.unknownNames(types, destinations, known) {
                Messages.warning(text, hint: hint)
            }
        }
        if reader.unread > 0 {
            Messages.warning(
                "\(InWords.count(reader.unread, "line")) of the log cannot be read: torn, or of a newer version")
        }
        guard isFollowing else { return .ok }
        let clock = RunClock.ofProcess
        Interruption.install()
        defer { Interruption.uninstall() }
        while true {
            standardOutput.flush()
            if standardOutput.isClosed { return .ok }
            clock.sleep(clock.instant() + .seconds(1))
            if clock.signals().count > 0 { return .ok }
            tell(try reader.read())
        }
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
