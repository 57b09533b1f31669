import Drain
import Policy
import Spool

/// The change that a command makes to operations. Chooses them by ids or filters, changes each, and prints the ids of
/// those that it changed.
struct OperationChange {
    /// The verb of messages, as in `cannot retry`.
    var verb: String
    /// The states that filters search unless `--state` names others.
    var states: Set<ShownState>
    /// Returns why the operation cannot change, or `nil`. Filters without `--state` skip operations with a reason.
    var objection: (Entry) -> String?
    /// Returns the command that helps with an operation which has an objection; `nil` if there is none. Filters report
    /// the operations that they skip with such a command.
    var remedy: (Entry) -> String? = { _ in nil }
    /// Changes the operation. Returns false if a run was faster.
    var change: (OpenQueue, Entry, Times) throws(SpoolError) -> Bool
    /// Changes files in quarantine, chosen by `--state quarantined` or their names; `nil` if that makes no sense. With
    /// `isDryRun`, changes nothing.
    var onQuarantined: QuarantineChange?
    /// The time between the due times of two operations; `nil` if the command sets none.
    var spacing: Duration?
    /// Whether the operations that are held behind the chosen failed ones are chosen too.
    var includesFollowers = false

    /// Whether a changed operation no longer waits for a witness, see `Parking`.
    var endsParking = false

    /// An operation that is held behind a failed one.
    private struct Follower {
        var entry: Entry
        var failed: OperationID
    }

    /// `due` returns the due time of a file, by the number of files changed before it. `report` is called with each
    /// result.
    typealias QuarantineChange = (
        OpenQueue, [QuarantineItem], _ isDryRun: Bool, _ due: (_ done: Int) -> Timestamp?,
        _ report: (QuarantineItem, QuarantineResult) -> Void
    ) throws -> Void

    /// The result of a change to a file in quarantine.
    enum QuarantineResult {
        /// It is changed, and due then, if the command sets due times.
        case done(due: Timestamp?)
        case gone
        /// The reason why the file stays in quarantine.
        case refused(String)
    }

    /// The time of the change, and the due time that the operation gets.
    struct Times {
        var now: Timestamp
        var due: Timestamp?

        /// Returns the times for the next operation, or for one after more.
        func next(_ spacing: Duration?, after count: Int = 1) -> Times {
            Times(now: now, due: spacing.flatMap { spacing in due.map { $0 + spacing * count } })
        }
    }

    init(
        verb: String, states: Set<ShownState>, objection: @escaping (Entry) -> String?,
        change: @escaping (OpenQueue, Entry, Times) throws(SpoolError) -> Bool
    ) {
        self.verb = verb
        self.states = states
        self.objection = objection
        self.change = change
    }

    func perform(_ options: ActionOptions, _ environment: [String: String]) throws(CommandFailure) -> ExitStatus {
        try failing { try perform(options, on: try OpenQueue(options.queue, environment)) }
    }

    func perform(_ options: ActionOptions, on queue: OpenQueue) throws -> ExitStatus {
        let now = Timestamp.now()
        var times = Times(now: now, due: spacing.map { _ in now })
        let limit = options.limit ?? .max
        var entries: [Entry] = []
        var items: [QuarantineItem] = []
        var status = ExitStatus.ok
        if options.ids.isEmpty {
            let known = try queue.knownDestinations()
            let filter = try Filter(options.filter, states: states, of: known, now: now)
            entries = try queue.entries(filter, known)
            if options.filter.states.isEmpty {
                if !options.verbosity.isQuiet { reportSkipped(entries.filter { objection($0) != nil }) }
                entries.removeAll { objection($0) != nil }
            }
            if filter.states.contains(.quarantined) {
                if onQuarantined == nil {
                    throw CommandFailure(
                        .usage, "cannot \(verb) files in quarantine", hint: "runs do not attempt them")
                }
                items = try queue.spool.quarantined().filter(filter.includes)
            }
        } else {
            let targets = try namedTargets(options.ids)
            let found = try queue.found(targets)
            for target in targets {
                if found[target] == nil {
                    status = .failed
                    Messages.error("cannot \(verb) '\(target)': no such operation in the queue", hint: target.hint)
                }
                for one in found[target] ?? [] {
                    switch one {
                    case .operation(let entry): entries.append(entry)
                    case .quarantined(let item): items.append(item)
                    }
                }
            }
        }
        entries = Array(entries.prefix(limit))
        items = Array(items.prefix(limit - entries.count))
        status = .first(of: [status, try performOnQuarantined(items, options, queue, &times)])
        let before = try heldBehindFailed(queue)
        var released = before
        defer { reportReleased(released, queue, options) }
        if includesFollowers {
            let chosen = Set(entries.map(\.name.id))
            let followers = before.values.filter { chosen.contains($0.failed) }.map(\.entry)
            released = before.filter { !chosen.contains($0.value.failed) }
            // Drops the newest first and the failed ones last: if the command ends early, no run sends a follower.
            entries =
                followers.filter { !chosen.contains($0.name.id) }
                .sorted { ($1.name.createdAt, $1.name.id) < ($0.name.createdAt, $0.name.id) } + entries
        }
        var hasBegun = false
        for start in stride(from: 0, to: entries.count, by: Self.batchSize) {
            let batch = entries[start..<min(start + Self.batchSize, entries.count)]
            do {
                try perform(on: batch, queue, options, &times, &status, &hasBegun)
            } catch let error as SpoolError {
                throw CommandFailure(error, hasBegun: hasBegun)
            }
        }
        return status
    }

    /// Reports the operations that the filters skip and another command changes.
    private func reportSkipped(_ entries: [Entry]) {
        var counts: [String: Int] = [:]
        for entry in entries { if let command = remedy(entry) { counts[command, default: 0] += 1 } }
        for (command, count) in counts.sorted(by: { $0.key < $1.key }).prefix(10) {
            Messages.notice("did not \(verb) \(InWords.count(count, "operation")): '\(command)' does it")
        }
    }

    /// Returns the operations that are held behind a failed one, each with that one. Empty if no route holds them, or
    /// the command does not change failed operations.
    private func heldBehindFailed(_ queue: OpenQueue) throws -> [OperationID: Follower] {
        guard states.contains(.failed), queue.configuration.holdsBehindFailed else { return [:] }
        let known = try queue.knownDestinations()
        var held: [OperationID: Follower] = [:]
        for state in [QueueState.new, .deferred] {
            try queue.spool.forEachEntry(in: state) { entry in
                if let failed = known.failedHolder(of: entry.name) {
                    held[entry.name.id] = Follower(entry: entry, failed: failed)
                }
            }
        }
        return held
    }

    /// Reports how many operations are no longer held, because the command has changed the failed ones.
    private func reportReleased(_ before: [OperationID: Follower], _ queue: OpenQueue, _ options: ActionOptions) {
        guard !before.isEmpty, let after = try? heldBehindFailed(queue) else { return }
        let count = before.keys.count { after[$0] == nil }
        guard count > 0, !options.verbosity.isQuiet else { return }
        Messages.notice(
            "\(InWords.are(count, "operation")) no longer held behind a failed operation")
    }

    /// The number of operations that share a sync. Their answers wait for it: half a second's worth of renames.
    private static let batchSize = 20_000

    private func perform(
        on batch: some Sequence<Entry>, _ queue: OpenQueue, _ options: ActionOptions, _ times: inout Times,
        _ status: inout ExitStatus, _ hasBegun: inout Bool
    ) throws {
        var done: [(entry: Entry, times: Times)] = []
        var refused: [(id: OperationID, reason: String, remedy: String?)] = []
        func perform(on entry: Entry) throws(SpoolError) {
            if let reason = objection(entry) {
                refused.append((entry.name.id, reason, remedy(entry)))
                return
            }
            let isDone = if options.isDryRun { true } else { try change(queue, entry, times) }
            if isDone {
                done.append((entry, times))
                times = times.next(spacing)
            } else {
                refused.append((entry.name.id, "a run has just claimed it", nil))
            }
        }
        // A failed sync does not undo the moves.
        defer { hasBegun = hasBegun || !done.isEmpty }
        var work = Result<Void, SpoolError>.success(())
        try queue.spool.withSharedSyncs {
            work = Result { () throws(SpoolError) in for entry in batch { try perform(on: entry) } }
        }
        // Each answered change is durable, even if the work ended early.
        for (entry, times) in done { printChanged(entry.name.id, entry, times, options) }
        for (id, reason, remedy) in refused {
            status = .failed
            Messages.error("cannot \(verb) '\(id)': \(reason)", hint: remedy ?? pasted("show", id.description))
        }
        if endsParking, !options.isDryRun { try queue.unpark(done.map(\.entry)) }
        try work.get()
    }

    private func performOnQuarantined(
        _ items: [QuarantineItem], _ options: ActionOptions, _ queue: OpenQueue, _ times: inout Times
    ) throws -> ExitStatus {
        if items.isEmpty { return .ok }
        var status = ExitStatus.ok
        func report(_ item: QuarantineItem, _ result: QuarantineResult) {
            let path = "quarantine/\(item.fileName)"
            switch result {
            case .done(let due):
                printChanged(ActionResult(state: QueueState.quarantine.word, path: path, due: due), path, options)
                times = times.next(spacing)
            case .gone:
                status = .failed
                Messages.error("cannot \(verb) '\(path)': it is gone")
            case .refused(let reason):
                status = .failed
                Messages.error("cannot \(verb) '\(path)': \(reason)", hint: pasted("show", item.fileName))
            }
        }
        guard let onQuarantined else {
            for item in items { report(item, .refused("it is quarantined")) }
            return status
        }
        let first = times
        try onQuarantined(queue, items, options.isDryRun, { first.next(spacing, after: $0).due }, report)
        return status
    }

    private func printChanged(_ id: OperationID, _ entry: Entry, _ times: Times, _ options: ActionOptions) {
        printChanged(ActionResult(id: id, state: entry.state.word, due: times.due), id.description, options)
    }

    /// Prints the name alone, for another command to read. A dry run also prints the due time.
    private func printChanged(_ result: ActionResult, _ name: String, _ options: ActionOptions) {
        if options.isJSON {
            JSONLine.write(result)
        } else if options.isDryRun, let due = result.due {
            standardOutput.line("\(escapedForDisplay(name))  \(due)")
        } else {
            standardOutput.line(escapedForDisplay(name))
        }
    }
}

extension OpenQueue {
    /// Ends the parking of operations: the next run sends each, and does not wait for a witness. After a crash they are
    /// parked as before.
    fileprivate func unpark(_ entries: [Entry]) throws(SpoolError) {
        let file = DestinationsFile(spool: spool)
        let ids = Set(entries.map(\.name.id))
        let events = try file.read().destinations.flatMap { name, state in
            state.parking.entries.filter { ids.contains($0.id) }
                .map { (destination: name, event: DestinationEvent.unparked($0.id)) }
        }
        if events.isEmpty { return }
        let table = DestinationTable(configuration)
        try file.record(
            events, settings: { table.settings(of: Destination(named: $0)) }, at: .now(), durable: true)
    }
}
