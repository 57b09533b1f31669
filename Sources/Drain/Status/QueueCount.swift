package import Policy
package import Spool

/// The numbers of a queue's entries by state, counted in one pass over their names.
package struct QueueCount {
    /// The counts of one destination's operations, and what runs remember about it.
    package struct DestinationCount {
        package let destination: Destination
        package let state: DestinationState
        package let availability: Availability
        package var operations: [ShownState: Int] = [:]
        /// The number of unfinished operations by their group in `QueueCount.ageGroups`. An operation in flight counts:
        /// it may come back, its run may be dead, and the age of a queue must not fall with each attempt.
        package var countsByAge: [String: Int] = [:]
        /// The time of creation of the oldest unfinished operation.
        package var oldest: Timestamp?
        /// The earliest time at which an operation may be sent, and the latest; `nil` if no time is known.
        package var next: Timestamp?
        package var last: Timestamp?
        /// Whether a route leads to the destination.
        package var isNamed = true
        /// The operations that are due, and that runs which came did not send.
        package fileprivate(set) var unsent: Unsent?
        /// The oldest operation that may be sent now, and that no run has put back.
        fileprivate var untouched: Entry?
        /// The operations in flight, the first of them.
        fileprivate var flights: [Entry] = []

        package init(_ destination: Destination, _ state: DestinationState, _ availability: Availability) {
            self.destination = destination
            self.state = state
            self.availability = availability
        }
    }

    /// The groups of ages, by their upper limits. The last group has none.
    package static let ageGroups: [(word: String, limit: Duration)] =
        ["1m", "5m", "1h", "6h", "1d", "3d"].map { ($0, Duration(quantity: $0)!) } + [("older", .seconds(Int64.max))]

    private let known: KnownDestinations
    private let now: Timestamp
    private var view: QueueView
    private var counted: [DestinationCount] = []
    /// The indices of destinations in `counted`.
    private var indices: [Digest: Int] = [:]
    package private(set) var states: [ShownState: Int] = [:]
    /// The number of operations held by themselves, whose destination is not held.
    package private(set) var heldByThemselves = 0
    /// The number of operations held behind a failed operation of their sequence.
    package private(set) var heldBehindFailed = 0
    /// The operations that the next run may send now: waiting ones, and claims of dead runs. A paused queue has none.
    package private(set) var due = 0
    private let runs: (alive: Set<String>, dead: Set<String>)
    private let isPaused: Bool
    /// Whether a run is at work, by its lock.
    package var isAtWork: Bool { !runs.alive.isEmpty }
    /// The time at which the last run at work began; `nil` without one.
    var atWorkSince: Timestamp? { SpoolDirectory.lastStart(of: runs.alive) }
    /// The numbers of failed operations and files in quarantine that no operator's command has named.
    package private(set) var newFailed = 0
    package private(set) var newQuarantined = 0
    /// The newest of these operations.
    private(set) var newestFailed: Entry?
    /// Why the files in quarantine are there, escaped; `nil` if not all have the same reason.
    package private(set) var quarantineReason: String?
    /// The number of waiting operations behind an older operation of their sequence.
    package private(set) var waitingForOlder = 0
    /// The number of waiting operations superseded by a newer operation.
    package private(set) var superseded = 0
    /// The number of waiting operations carried by a newer operation's request.
    package private(set) var merged = 0

    /// The number of waiting operations that lack a kept value.
    package private(set) var lackingKept = 0
    /// The operations that lack a value which nothing in the queue can leave.
    package private(set) var unserved: Unserved?
    private var lacks = KeptLacks()
    private var room: QueueRoom
    /// The limit that keeps `add` from adding an operation; `nil` if there is room.
    package private(set) var fullLimit: FullLimit?
    private let withheld: [OperationID: WithheldOperations.Entry]

    /// Lists the queue and counts. Takes no lock and opens no operation's file.
    package init(
        of spool: SpoolDirectory, _ configuration: Configuration, _ known: KnownDestinations, at now: Timestamp
    ) throws(SpoolError) {
        self.known = known
        self.now = now
        room = QueueRoom(configuration.limits)
        view = try QueueView(spool, configuration, known, at: now)
        withheld = try WithheldOperations.read(from: spool)
        (runs, isPaused) = (try spool.runs(), try spool.isPaused)
        let seen = Set(try SeenFiles.read(from: spool).names)
        let seenNames = Set(seen.map { $0.prefix { $0 != " " } })
        var failed: [Entry] = []
        for state in QueueState.allCases where state != .quarantine {
            let foreign = try spool.forEachEntry(in: state) { entry in
                if state == .failed { failed.append(entry) } else { count(entry) }
            }
            if state == .new {
                // The next run makes them operations of the default type.
                states[.new, default: 0] += foreign
                if !isPaused { due += foreign }
            }
        }
        for entry in try spool.withRuns(failed) {
            count(entry)
            if entry.isInFlight { continue }
            if !seenNames.isEmpty, seenNames.contains("\(entry.name)"),
                try SeenFiles.mark(of: entry, in: spool).map(seen.contains) ?? true
            {
                continue
            }
            newFailed += 1
            if newestFailed.map({ $0.name.createdAt < entry.name.createdAt }) ?? true { newestFailed = entry }
        }
        let quarantined = try spool.quarantined()
        states[.quarantined] = quarantined.count
        var unseen: [QuarantineItem] = []
        for item in quarantined {
            if let mark = try SeenFiles.mark(of: item, in: spool), !seen.contains(mark) { unseen.append(item) }
        }
        newQuarantined = unseen.count
        quarantineReason = Set(unseen.map(\.reason)).count == 1 ? unseen[0].reason.map { escapedForDisplay($0) } : nil
        try view.serve(&lacks)
        unserved = lacks.unserved
        fullLimit = try room.fullLimit(in: spool)
        try noteUntouched(in: spool)
        try noteFlights(in: spool)
        // Destinations remembered by runs have a row, too, if nothing waits for them.
        for (name, state) in known.states where !state.isBlank {
            _ = index(of: Destination(named: name))
        }
    }

    /// The count of each destination with operations or a stored state, by name.
    package var destinationCounts: [DestinationCount] { counted.sorted { $0.destination.name < $1.destination.name } }

    private mutating func index(of destination: Destination) -> Int {
        if let index = indices[destination.digest] { return index }
        let state = known.states[destination.name] ?? DestinationState()
        indices[destination.digest] = counted.count
        counted.append(DestinationCount(destination, state, known.availability(of: destination, at: now)))
        counted[counted.count - 1].isNamed = known.table.isNamed(destination.digest)
        return counted.count - 1
    }

    private mutating func count(_ entry: Entry) {
        let destination = known.table.destination(of: entry.name)
        let state = ShownState(of: entry, isHeldWithOthers: known.holds(entry.name))
        states[state, default: 0] += 1
        let index = index(of: destination)
        switch state {
        case .new, .deferred, .claimed, .failed: counted[index].operations[state, default: 0] += 1
        case .held:
            counted[index].operations[state, default: 0] += 1
            if known.isHeld(destination) { break }
            if entry.name.isHeld { heldByThemselves += 1 } else { heldBehindFailed += 1 }
        case .quarantined, .delivered: return
        }
        if state == .failed { return }
        if room.isLimited {
            let order = view.kinds.kind(of: entry.name).order
            let group = order.coalesces ? order.group(of: entry.name, to: destination) : nil
            room.count(entry, group: group, in: view.spool)
        }
        if entry.state == .claimed {
            if let run = entry.claimedBy, runs.dead.contains(run) {
                if !isPaused { due += 1 }
            } else if counted[index].flights.count < Self.mostFlights {
                counted[index].flights.append(entry)
            }
        }
        counted[index].oldest = min(counted[index].oldest ?? entry.name.createdAt, entry.name.createdAt)
        let age = now - entry.name.createdAt
        let group = Self.ageGroups.first { age < $0.limit }?.word ?? "older"
        counted[index].countsByAge[group, default: 0] += 1
        guard let waiting = view.waiting(of: entry) else { return }
        switch waiting {
        case .older: waitingForOlder += 1
        case .newer: superseded += 1
        case .merged: merged += 1
        case .kept(let name):
            lackingKept += 1
            view.note(name, of: entry, in: &lacks)
        case .nothing, .witness: noteUnsent(entry, at: index)
        case .failed, .time, .newest, .person, .destination, .conditions, .secret, .unserved, .resume: break
        }
        guard waiting != .resume, let time = waiting.until(now) else { return }
        if time <= now { due += 1 }
        counted[index].next = min(counted[index].next ?? time, max(time, now))
        counted[index].last = max(counted[index].last ?? time, time)
    }

    /// Notes whether runs have put back an operation that may be sent.
    private mutating func noteUnsent(_ entry: Entry, at index: Int) {
        let due = entry.name.dueTime
        if let known = withheld[entry.name.id], known.since <= now, due <= known.since {
            let unsent = Unsent(entry.name.id, since: known.since, reason: known.reason)
            counted[index].unsent = unsent.joined(by: counted[index].unsent)
        } else if counted[index].untouched.map({ due < $0.name.dueTime }) ?? true {
            counted[index].untouched = entry
        }
    }

    /// The most operations in flight of a destination whose files are looked at.
    private static let mostFlights = 100

    /// Notes the operations that a run has had in flight for longer than any request may take: the run is stopped, or
    /// waits for something else.
    private mutating func noteFlights(in spool: SpoolDirectory) throws(SpoolError) {
        for index in counted.indices {
            for entry in counted[index].flights {
                let total = view.kinds.kind(of: entry.name).route.timeouts.total
                guard let since = try spool.timeInPlace(of: entry), now - since > max(total * 2, Unsent.longestFlight)
                else { continue }
                let unsent = Unsent(
                    entry.name.id, since: since, reason: "a run that is stopped, or hangs, has it in flight")
                counted[index].unsent = unsent.joined(by: counted[index].unsent)
            }
        }
    }

    /// Notes for each destination whether its oldest due operation has waited for more than any turn of runs, while
    /// runs sent others and left none for their limits. An operation is due since it came to its place, too.
    private mutating func noteUntouched(in spool: SpoolDirectory) throws(SpoolError) {
        let latest = known.states.values.compactMap(\.lastSuccess).max()
        for index in counted.indices {
            guard let entry = counted[index].untouched, entry.name.interruptions == 0,
                let last = counted[index].state.isBlank ? latest : counted[index].state.lastSuccess,
                case let served = min(last, now),
                served - entry.name.dueTime > Unsent.longestTurn, let came = try spool.timeInPlace(of: entry)
            else { continue }
            let since = max(entry.name.dueTime, came)
            let left = try StateFile.lastRun.read(RunCounts.self, in: spool)?.leftDue
            guard served - since > Unsent.longestTurn, left == 0 else { continue }
            let unsent = Unsent(entry.name.id, since: since, reason: nil)
            counted[index].unsent = unsent.joined(by: counted[index].unsent)
        }
    }
}

extension EntryName {
    /// The time from which its file may be sent, as far as its name says.
    fileprivate var dueTime: Timestamp {
        switch gate {
        case .open: createdAt
        case .notBefore(let moment), .retryAt(let moment): moment
        }
    }
}
