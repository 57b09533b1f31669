import CSystem
import Drain
import Policy
import Spool

extension OpenQueue {
    /// Adds events to the queue's log. An error is a warning: the log decides nothing.
    func log(_ events: [LogEvent]) {
        if events.isEmpty { return }
        var untold = Untold()
        events.forEach { untold.take($0) }
        do throws(SpoolError) { try untold.write(to: self) } catch { untold.warn(error) }
    }

    /// Adds what a command has met or done, as a run would report it, to the ledger of reports. Leaves it to the next
    /// run for its hooks, and a dead run's failures also for its mail.
    func note(_ events: [RunEvent], owing others: [News] = []) throws(SpoolError) {
        if events.isEmpty { return }
        var untold = Untold()
        for event in events { untold.take(event, for: configuration.hooks, at: .now()) }
        for news in others { untold.take(news, for: configuration.hooks) }
        try untold.write(to: self) { ledger in
            for case .foundEnded(let end) in events where end.hasFailed { ledger.oweMail(of: end, knowing: ledger) }
        }
    }

    /// Notes operations that were evicted. Tells of the operations that wait for a value of an evicted one.
    func noteEvictions(_ names: [EntryName]) {
        if names.isEmpty { return }
        var destinations = DestinationTable(configuration)
        var followers: [EntryName] = []
        func warning(_ body: () throws(SpoolError) -> Void) {
            do throws(SpoolError) { try body() } catch { Messages.warning(error.description, hint: error.hint) }
        }
        warning { () throws(SpoolError) in destinations = try knownDestinations().table }
        warning { () throws(SpoolError) in followers = try spool.followers(of: names, configuration) }
        for name in followers.prefix(News.idsTold) {
            Messages.warning(
                "'\(name.id)' waits for a value of an operation that was evicted",
                hint: pasted("show", name.id.description))
        }
        warning { () throws(SpoolError) in
            try note(
                names.map { .evicted($0, destination: destinations.destination(of: $0).name) },
                owing: followers.map { .follower($0, destinations.destination(of: $0).name) })
        }
    }

    /// Adds an operator's command that has changed these operations. A command that changed none is no event.
    func log(_ command: String, of changed: [String], count: Int) {
        if count == 0 { return }
        var event = LogEvent(.command, at: .now())
        (event.command, event.user) = (command, operatorName)
        (event.count, event.ids) = (count, changed)
        log([event])
    }

    /// Notes that an operator's command has named failed operations or files in quarantine that stay, by their marks.
    func noteSeen(_ marks: [String]) {
        // try?: they stay new for `status`.
        try? SeenFiles.note(marks, in: spool)
    }

    /// Adds what an operator's command has changed of destinations, or of the queue.
    func log(byOperator changes: [LogEvent]) {
        let user = operatorName
        var waiting = WaitingCount()
        log(
            changes.map { change in
                var change = waiting.added(to: change, in: self)
                change.user = user
                return change
            })
    }

    /// The name of the user that gave the command; below sudo(8) that of the user who called it.
    var operatorName: String {
        if let name = environment["SUDO_USER"], !name.isEmpty { return name }
        let user = getuid()
        return getpwuid(user).map { String(cString: $0.pointee.pw_name) } ?? "uid \(user)"
    }
}

/// The number of operations that wait for a destination when it goes down or is held, for the log.
///
/// Each number costs a listing of names. Listings take at most a twentieth of the time, whatever changes.
struct WaitingCount {
    private let clock = RunClock.ofProcess
    private var next: ContinuousClock.Instant?

    /// Returns the event with the number, if it is one of these.
    mutating func added(to event: LogEvent, in queue: OpenQueue) -> LogEvent {
        let start = clock.instant()
        guard event.kind == .down || event.kind == .held, let name = event.destination,
            next.map({ $0 <= start }) ?? true
        else { return event }
        var event = event
        // try?: the log does without the number.
        event.waiting = try? count(of: Digest(of: name), in: queue)
        let end = clock.instant()
        next = end + start.duration(to: end) * 20
        return event
    }

    private func count(of destination: Digest, in queue: OpenQueue) throws -> Int {
        let table = DestinationTable(queue.configuration)
        var count = 0
        for state in [QueueState.new, .deferred, .claimed] {
            try queue.spool.forEachEntry(in: state) { entry in
                if table.destination(of: entry.name).digest == destination { count += 1 }
            }
        }
        return count
    }
}

extension LogEvent {
    /// Makes the event of a run that has ended.
    init(_ summary: RunSummary, _ status: ExitStatus, configuration: String?, at now: Timestamp) {
        self.init(.run, at: now)
        since = summary.startedAt
        (delivered, deferred, failed, held) = (summary.delivered, summary.deferred, summary.failed, summary.held)
        durationMs = Int(clamping: summary.duration.wholeMicroseconds / 1000)
        exitStatus = Int(status.rawValue)
        self.configuration = configuration
    }
}
