package import Policy
package import Spool

/// An operator's change to operations, and to files in quarantine: chooses them by their names or a filter, changes
/// each, and reports the result.
///
/// A reported change survives a power cut. After a crash other operations may have changed too.
package struct OperationChange {
    /// The choice of operations.
    package enum Choice {
        case targets([NamedTarget])
        /// These files, as they were saved. A file moved or replaced since does not change.
        case saved([SavedOperation])
        /// `isStrict`: the operator named the states, so an operation that cannot change is an error. Otherwise the
        /// filter skips it.
        case filter(OperationFilter, KnownDestinations, isStrict: Bool)
    }

    package struct Options: Hashable, Sendable {
        /// The most operations and files: the oldest first, files in quarantine last.
        package var limit = Int.max
        /// Whether nothing changes, and only the results are reported.
        package var isDryRun = false

        package init(limit: Int = .max, isDryRun: Bool = false) {
            self.limit = limit
            self.isDryRun = isDryRun
        }
    }

    /// The number of operations with a shared sync. Their answers wait for the sync: half a second's worth of renames.
    private static let batchSize = 20_000

    private let spool: SpoolDirectory
    private let configuration: Configuration
    private let action: OperatorAction
    private let options: Options
    private let clock: RunClock
    private let report: (OperationChangeEvent) -> Void
    /// Whether an operation has changed.
    package private(set) var hasBegun = false
    private let now: Timestamp
    /// The due time of the next operation; `nil` if the action sets none.
    private var due: Timestamp?
    /// The admission of dead letters that come back as new operations.
    private var control: AdmissionControl
    /// The content of the files that were saved, or that passed a filter of their content.
    private var saved: [Entry: Fingerprint] = [:]

    package init(
        _ action: OperatorAction, in spool: SpoolDirectory, _ configuration: Configuration,
        _ options: Options = Options(), clock: RunClock, report: @escaping (OperationChangeEvent) -> Void
    ) {
        self.spool = spool
        self.configuration = configuration
        self.action = action
        self.options = options
        self.clock = clock
        self.report = report
        now = clock.now()
        control = AdmissionControl(configuration)
        due = if case .retry(spacing: .some, asNewest: _) = action { now } else { nil }
    }

    /// Makes the change. After an error, `hasBegun` says whether an operation has changed; quarantine comes last.
    package mutating func perform(on choice: Choice) throws(SpoolError) {
        // A retry as the newest that died may have left both of its files.
        try spool.completeCommittedBatches()
        var (entries, items) = try chosen(choice)
        entries = Array(entries.prefix(options.limit))
        items = Array(items.prefix(options.limit - entries.count))
        guard case .drop(withFollowers: true) = action else { return try change(entries, items) }
        // Until all are gone: while a failed operation is in its place, no other command takes it from its followers.
        let spool = spool
        try spool.withNamesLock { () throws(SpoolError) in try change(entries, items) }
    }

    private mutating func change(_ entries: [Entry], _ items: [QuarantineItem]) throws(SpoolError) {
        let before = try heldBehindFailed()
        var released = before
        defer { reportReleased(released) }
        let chosen = Set(entries.map(\.name.id) + items.compactMap(\.name?.id))
        var followers: [Entry] = []
        if case .drop(withFollowers: true) = action {
            followers = before.values.filter { chosen.contains($0.failed) }.map(\.entry)
            released = before.filter { !chosen.contains($0.value.failed) }
        }
        let units = inUnits(entries + followers.filter { !chosen.contains($0.name.id) })
        // A failed operation that changes too may release those behind it.
        let kept = before.filter { !$0.value.entry.name.isHeld && !chosen.contains($0.value.failed) }
        for start in stride(from: 0, to: units.count, by: Self.batchSize) {
            try change(units[start..<min(start + Self.batchSize, units.count)], behind: kept.mapValues(\.failed))
        }
        try changeQuarantined(items)
    }

    /// Returns the operations in the order of their change, those of a unit together: under one hold of the names lock.
    ///
    /// A run beside a drop, or after its early end, sends no operation because of the drop. Superseded values go first,
    /// while the newer value still supersedes them. Then the newest go first, so no follower is left without its head.
    /// The patches of one document are a unit, the oldest first: a patch that is left has no value that the document
    /// would not have had.
    private func inUnits(_ entries: [Entry]) -> [[Entry]] {
        guard case .drop = action, configuration.hasSequentialRoutes else { return entries.map { [$0] } }
        let table = DestinationTable(configuration)
        var newest = Coalescing(ReplacementRule(configuration, at: now))
        for entry in entries where entry.state == .new || entry.state == .deferred { newest.note(entry.name) }
        var (superseded, units): ([[Entry]], [[Entry]]) = ([], [])
        var last: [SequenceKey: (unit: Int, group: SequenceKey?)] = [:]
        for entry in entries.sorted(by: { ($1.name.createdAt, $1.name.id) < ($0.name.createdAt, $0.name.id) }) {
            let order = configuration.route(of: entry.name.type).order
            let destination = table.destination(of: entry.name)
            let sequence = order.sequence(of: entry.name, to: destination)
            let group = order.mergesPayloads ? order.group(of: entry.name, to: destination) : nil
            if newest.isSuperseded(entry.name) {
                superseded.append([entry])
            } else if let group, let before = sequence.flatMap({ last[$0] }), before.group == group {
                units[before.unit].append(entry)
            } else {
                if let sequence { last[sequence] = (units.count, group) }
                units.append([entry])
            }
        }
        return superseded + units.map { $0.reversed() }
    }

    // MARK: - Choosing

    private mutating func chosen(_ choice: Choice) throws(SpoolError) -> ([Entry], [QuarantineItem]) {
        var entries: [Entry] = []
        var items: [QuarantineItem] = []
        switch choice {
        case .filter(let filter, let known, let isStrict):
            let found = try spool.entries(filter, known)
            (entries, saved) = (found.entries, found.read)
            if found.unread > 0 { report(.unread(found.unread)) }
            if !isStrict {
                // An operation in flight may wait again in a moment, unchanged: the command tells of it.
                let skipped = entries.filter { !$0.isInFlight && action.objection(to: $0) != nil }
                report(.skipped(skipped))
                entries.removeAll { !$0.isInFlight && action.objection(to: $0) != nil }
            }
            if filter.states.contains(.quarantined) { items = try spool.quarantined().filter(filter.includes) }
        case .saved(let given):
            entries = given.map(\.entry)
            saved = Dictionary(given.map { ($0.entry, $0.fingerprint) }, uniquingKeysWith: { first, _ in first })
        case .targets(let targets):
            let found = try spool.found(targets)
            for target in targets {
                if found[target] == nil { report(.missing(target)) }
                for one in found[target] ?? [] {
                    switch one {
                    case .operation(let entry): entries.append(entry)
                    case .quarantined(let item): items.append(item)
                    }
                }
            }
        }
        return (entries, items)
    }

    // MARK: - Followers

    /// An operation held behind a failed operation or a file in quarantine.
    private struct Follower {
        var entry: Entry
        var failed: OperationID
    }

    /// Returns the operations held behind a failed operation, each with its holder. Empty if no route holds them, or
    /// the action does not change failed operations.
    private func heldBehindFailed() throws(SpoolError) -> [OperationID: Follower] {
        guard action.states.contains(.failed), configuration.holdsBehindFailed else { return [:] }
        let known = try KnownDestinations(of: spool, configuration, at: clock.now())
        var held: [OperationID: Follower] = [:]
        for state in [QueueState.new, .deferred] {
            try spool.forEachEntry(in: state) { entry in
                if let failed = known.failedHolder(of: entry.name) {
                    held[entry.name.id] = Follower(entry: entry, failed: failed)
                }
            }
        }
        return held
    }

    /// Reports how many operations are no longer held, because the failed ones have changed.
    private func reportReleased(_ before: [OperationID: Follower]) {
        // try?: the change is made, and only this count is missing.
        guard !before.isEmpty, let after = try? heldBehindFailed() else { return }
        let count = before.keys.count { after[$0] == nil }
        if count > 0 { report(.released(count)) }
    }

    // MARK: - Operations

    /// Changes operations with shared syncs. `failed`: the failed operations that hold others, by the held ones.
    private mutating func change(
        _ batch: ArraySlice<[Entry]>, behind failed: [OperationID: OperationID]
    ) throws(SpoolError) {
        var done: [(entry: Entry, due: Timestamp?)] = []
        var refused: [(entry: Entry, objection: OperatorAction.Objection)] = []
        func change(_ entry: Entry, _ newer: OperationID?) throws(SpoolError) {
            if let objection = action.objection(to: entry) {
                refused.append((entry, objection))
            } else if case .retry = action, let failed = failed[entry.name.id] {
                refused.append((entry, .isHeldBehind(failed)))
            } else if let newer {
                refused.append((entry, .isSuperseded(by: newer)))
            } else if let objection = try perform(on: entry) {
                refused.append((entry, objection))
            } else {
                done.append((entry, due))
                due = due(after: 1)
            }
        }
        // A failed sync does not undo the moves.
        defer { hasBegun = hasBegun || !done.isEmpty }
        var work = Result<Void, SpoolError>.success(())
        try spool.withSharedSyncs {
            work = Result { () throws(SpoolError) in
                guard action.leavesSuperseded(configuration) else {
                    // The runs decide on an operation that waits, whatever the answer: no lock is needed.
                    let newer = try action.newer(than: batch.joined(), in: spool, configuration, at: now)
                    for unit in batch {
                        if unit.count == 1 {
                            try change(unit[0], newer[unit[0].name])
                        } else {
                            try spool.withNamesLock { () throws(SpoolError) in
                                for entry in unit { try change(entry, nil) }
                            }
                        }
                    }
                    return
                }
                // Until the entries have moved: a run that sends a newer value has listed before, or will list them.
                try spool.withNamesLock { () throws(SpoolError) in
                    let newer = try action.newer(than: batch.joined(), in: spool, configuration, at: now)
                    for entry in batch.joined() { try change(entry, newer[entry.name]) }
                }
            }
        }
        // Each answered change is durable, even if the work ended early.
        for (entry, due) in done { report(.changed(entry, due: due)) }
        for (entry, objection) in refused { report(.refused(entry, objection)) }
        if case .retry = action, !options.isDryRun { try unpark(done.map(\.entry)) }
        try work.get()
    }

    /// Changes an operation, except in a dry run. Returns why it cannot change any more; `nil` once it has changed.
    private mutating func perform(on entry: Entry) throws(SpoolError) -> OperatorAction.Objection? {
        if case .retry = action {
            switch try spool.read(entry) {
            case nil: return try whereabouts(of: entry.name.id)
            case .operation(let stored):
                let objection = action.objection(toRetryOf: stored.operation, in: entry.state, configuration, at: now)
                if let objection { return objection }
            case .notAnOperation(let reason): return .isDamaged(reason)
            case .newerFormat(let version): return .isDamaged("a newer drainq has written it (format \(version))")
            }
        }
        if options.isDryRun { return nil }
        let isDone: Bool
        switch action {
        case .retry where action.renews(entry.state):
            isDone = try spool.retryAsNewest(entry, within: &control, now: now, notBefore: due) != nil
        case .retry: isDone = try spool.retry(entry, now: now, notBefore: due) != nil
        case .hold: isDone = try spool.hold(entry) != nil
        case .release: isDone = try spool.release(entry, now: now) != nil
        case .drop:
            switch try spool.drop(entry, having: saved[entry], at: clock.now()) {
            case .done: isDone = true
            case .hasChanged: return .isReplaced
            case .isGone: isDone = false
            }
        }
        return isDone ? nil : try whereabouts(of: entry.name.id)
    }

    /// Returns where an operation is that is no longer in its place.
    private func whereabouts(of id: OperationID) throws(SpoolError) -> OperatorAction.Objection {
        let found = try spool.withNamesLock { () throws(SpoolError) in try spool.find([id])[id] }
        guard let found else { return .isGone }
        return found.state == .claimed ? .isClaimed : .hasMoved(to: found.state)
    }

    /// Returns the due time of an operation after `count` more; `nil` if the action sets none.
    private func due(after count: Int) -> Timestamp? {
        guard case .retry(spacing: let spacing?, asNewest: _) = action, let due else { return nil }
        return due + spacing * count
    }

    /// Ends the parking of operations: the next run sends each without a witness. After a crash they are parked again.
    private func unpark(_ entries: [Entry]) throws(SpoolError) {
        let operations = Set(entries.map { Age($0.name) })
        let events = try DestinationsFile(spool: spool).read().destinations.flatMap { name, state in
            state.parking.entries.map(\.operation).filter(operations.contains)
                .map { (destination: name, event: DestinationEvent.unparked($0)) }
        }
        if events.isEmpty { return }
        let table = DestinationTable(configuration)
        try DestinationsFile(spool: spool).record(
            events, settings: { table.settings(of: Destination(named: $0)) }, at: clock.now(), durable: true)
    }

    // MARK: - Quarantine

    private mutating func changeQuarantined(_ items: [QuarantineItem]) throws(SpoolError) {
        if items.isEmpty { return }
        switch action {
        case .hold, .release: for item in items { report(.refusedFile(item, reason: nil)) }
        case .drop:
            for item in items {
                let isThere = if options.isDryRun { true } else { try spool.drop(item, at: clock.now()) }
                report(isThere ? .changedFile(item, due: nil) : .fileGone(item))
            }
        case .retry: try readmit(items)
        }
    }

    private mutating func readmit(_ items: [QuarantineItem]) throws(SpoolError) {
        var control = AdmissionControl(configuration)
        var admitted = 0
        defer { due = due(after: admitted) }
        var asNewest = false
        if case .retry(spacing: _, asNewest: true) = action { asNewest = true }
        let accepted = try spool.readmit(
            items, within: &control, now: clock.now(), asNewest: asNewest, isDryRun: options.isDryRun,
            notBefore: { due(after: $0) }
        ) { item, result, due in
            switch result {
            case .refused(let reason): report(.refusedFile(item, reason: reason))
            case .superseded(let newer): report(.leftFile(item, .isSuperseded(by: newer)))
            case .expired(let isOwn): report(.leftFile(item, .hasExpired(isOwn: isOwn)))
            case .gone: report(.fileGone(item))
            case .admitted:
                admitted += 1
                report(.changedFile(item, due: due))
            }
        }
        report(.madeRoom(accepted))
    }
}
