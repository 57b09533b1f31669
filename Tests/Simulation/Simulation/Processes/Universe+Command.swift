internal import Drain
internal import Policy
internal import Spool

/// An operator's commands.
extension Universe {
    func command(
        _ commands: [Plan.PlannedCommand], _ spool: SpoolDirectory, _ process: SimulatedProcess
    ) throws(SpoolError) {
        for planned in commands {
            if planned.wait > .zero { process.sleep(until: scheduler.time + planned.wait) }
            if let moment = planned.moment { watch(for: moment, process) }
            try perform(planned, spool, process)
        }
        note(process.id, .ends(status: 0))
    }

    private func perform(
        _ planned: Plan.PlannedCommand, _ spool: SpoolDirectory, _ process: SimulatedProcess
    ) throws(SpoolError) {
        switch planned.verb {
        case .pause, .resume, .holdDestination, .releaseDestination:
            try changeDestinations(planned, spool, process)
        case .repair: repair(spool, process)
        case .exportAndDrop: try exportAndDrop(planned, spool, process)
        case .retry:
            try change(.retry(spacing: planned.spacing, asNewest: planned.asNewest), planned, spool, process)
        case .hold: try change(.hold, planned, spool, process)
        case .release: try change(.release, planned, spool, process)
        case .drop: try change(.drop(withFollowers: planned.takesFollowers), planned, spool, process)
        }
    }

    private func repair(_ spool: SpoolDirectory, _ process: SimulatedProcess) {
        note(process.id, .commands(Command(.repair)))
        let recovery = spool.repair(
            by: ReplacementRule(configuration, at: now(on: process.host)), now: now(on: process.host),
            finishing: { (claim, url, began) throws(SpoolError) in
                try spool.recordDelivery(
                    of: claim.name, url: url, began: began, by: configuration, at: now(on: process.host))
            },
            telling: { (ends) throws(SpoolError) in
                for event in try spool.events(of: ends, by: configuration, at: now(on: process.host)) {
                    take(.foundEnded(event), of: process)
                }
                return true
            })
        if !recovery.returned.isEmpty { note(process.id, .reports(.recovered(recovery.returned.map(\.name.id)))) }
        for item in recovery.quarantined {
            note(process.id, .reports(.quarantined(item.name?.id, path: item.fileName)))
        }
        for error in recovery.errors { note(process.id, .reports(.error("\(error)"))) }
        note(process.id, .done)
    }

    // MARK: - Destinations

    private func changeDestinations(
        _ planned: Plan.PlannedCommand, _ spool: SpoolDirectory, _ process: SimulatedProcess
    ) throws(SpoolError) {
        var command = Command(planned.verb)
        if case .host(let host) = planned.target { command.host = host }
        note(process.id, .commands(command))
        let event: DestinationEvent =
            switch planned.verb {
            case .pause: .paused
            case .resume: .resumed
            case .releaseDestination: .released
            default: .heldByHand(reason: "simulated")
            }
        let change = DestinationChange(in: spool, configuration, clock: clock(of: process))
        if let host = command.host {
            try change.record(event, of: ["http://\(host)"])
        } else if planned.verb == .pause || planned.verb == .resume {
            try spool.setPaused(planned.verb == .pause)
        } else {
            // As `release --all`.
            let known = try KnownDestinations(of: spool, configuration, at: now(on: process.host))
            try change.record(event, of: change.closed(known))
        }
        note(process.id, .done)
    }

    // MARK: - Operations

    private func change(
        _ action: OperatorAction, _ planned: Plan.PlannedCommand, _ spool: SpoolDirectory, _ process: SimulatedProcess
    ) throws(SpoolError) {
        var command = Command(planned.verb)
        command.takesFollowers = planned.takesFollowers
        command.insists = planned.asNewest
        let spoilt = disk.files(in: "quarantine").map { (path: $0.path, label: label(in: $0)) }
        let choice: OperationChange.Choice
        if case .all(let type) = planned.target {
            command.type = type
            note(process.id, .commands(command))
            var filter = OperationFilter(states: planned.states.isEmpty ? action.states : planned.states)
            if let type { filter.types = [type] }
            let known = try KnownDestinations(of: spool, configuration, at: now(on: process.host))
            choice = .filter(filter, known, isStrict: !planned.states.isEmpty)
        } else if case .quarantined(let place) = planned.target {
            let items = try spool.quarantined()
            if items.isEmpty { return }
            let item = items[place % items.count]
            command.ids = [item.name?.id].compactMap(\.self)
            note(process.id, .commands(command))
            choice = .targets([.file(item.fileName)])
        } else {
            let ids = ids(of: planned.target, process)
            if ids.isEmpty { return }
            command.ids = ids
            note(process.id, .commands(command))
            choice = .targets(ids.map { .id($0) })
        }
        var change = OperationChange(
            action, in: spool, configuration, OperationChange.Options(limit: planned.limit ?? .max),
            clock: clock(of: process)
        ) { [unowned self] in
            // The name of a file that was no operation has no id, or one that drainq has made up.
            if case .changedFile(let item, due: _) = $0, item.name?.isInput ?? true,
                let label = spoilt.first(where: { $0.path.hasSuffix("/\(item.fileName)") })?.label
            {
                note(process.id, .changedFile(label))
            } else {
                take($0, of: process)
            }
        }
        try change.perform(on: choice)
        note(process.id, .done)
    }

    /// Saves the lines of operations that are not in flight, and drops the operations once their lines are synced.
    private func exportAndDrop(
        _ planned: Plan.PlannedCommand, _ spool: SpoolDirectory, _ process: SimulatedProcess
    ) throws(SpoolError) {
        var command = Command(.exportAndDrop)
        var entries: [Entry] = []
        if case .all(let type) = planned.target {
            command.type = type
            note(process.id, .commands(command))
            var filter = OperationFilter(states: [.new, .deferred, .held, .failed])
            if let type { filter.types = [type] }
            let known = try KnownDestinations(of: spool, configuration, at: now(on: process.host))
            entries = try spool.entries(filter, known).entries
        } else {
            let ids = ids(of: planned.target, process)
            command.ids = ids
            note(process.id, .commands(command))
            for case .operation(let entry) in try spool.found(ids.map { .id($0) }).values.joined() {
                entries.append(entry)
            }
        }
        var saved: [SavedOperation] = []
        for entry in entries where !entry.isInFlight && entry.state != .delivered {
            guard case .success(let operation)? = try spool.portable(entry),
                let label = label(in: operation.file)
            else { continue }
            saved.append(SavedOperation(entry: entry, fingerprint: operation.fingerprint))
            note(process.id, .exports(label))
        }
        process.sleep(until: scheduler.time + plan.schedule.syncPace * 2)
        var change = OperationChange(.drop(), in: spool, configuration, clock: clock(of: process)) {
            [unowned self] in take($0, of: process)
        }
        try change.perform(on: .saved(saved))
        note(process.id, .done)
    }

    private func take(_ event: OperationChangeEvent, of process: SimulatedProcess) {
        switch event {
        case .changed(let entry, due: _): note(process.id, .changed(entry.name.id))
        case .refused(let entry, _): note(process.id, .leftAlone(entry.name.id))
        case .skipped(let entries): for entry in entries { note(process.id, .leftAlone(entry.name.id)) }
        case .missing(.id(let id)): note(process.id, .leftAlone(id))
        case .changedFile(let item, due: _): if let id = item.name?.id { note(process.id, .changed(id)) }
        case .refusedFile(let item, reason: _), .leftFile(let item, _), .fileGone(let item):
            if let id = item.name?.id { note(process.id, .leftAlone(id)) }
        case .madeRoom(let accepted):
            for older in accepted.superseded {
                note(process.id, .reports(.superseded(older.entry.name.id, by: older.newer)))
            }
            for entry in accepted.evicted { note(process.id, .reports(.evicted(entry.name.id))) }
        case .missing(.file), .unread, .released: break
        }
    }

    /// Ends every hold and pause, as the calm end begins.
    func releaseEverything(_ process: SimulatedProcess) {
        do throws(SpoolError) {
            let spool = try SpoolDirectory(opening: Self.queue, system: calls(of: process))
            try perform(Plan.PlannedCommand(.resume, .queue), spool, process)
            for host in Set(plan.setup.kinds.map(\.host)).sorted() {
                try perform(Plan.PlannedCommand(.resume, .host(host)), spool, process)
                // Also closes a circuit breaker that nobody knows of.
                try perform(Plan.PlannedCommand(.releaseDestination, .host(host)), spool, process)
            }
            try perform(Plan.PlannedCommand(.release, .all(nil)), spool, process)
        } catch {
            note(process.id, .reports(.error("\(error)")))
        }
    }

    // MARK: - Targets

    /// Lets the process wait until a server has a request whose sender does not know the answer yet, a second at most.
    private func awaitRequest(_ process: SimulatedProcess) {
        for _ in 0..<200 {
            heard.read(history.events)
            if heard.requests > 0 { return }
            process.sleep(until: scheduler.time + .milliseconds(5))
        }
    }

    /// Returns the ids of a target at this moment, as far as the world has seen.
    func ids(of target: Plan.Target, _ process: SimulatedProcess) -> [OperationID] {
        switch target {
        case .inFlight, .olderPart: awaitRequest(process)
        case .waiting, .newest, .failed, .quarantined, .all, .host, .queue: break
        }
        heard.read(history.events)
        let (offers, names, inFlight, gone) = (heard.offers, heard.names, heard.inFlight, heard.gone)
        let waiting = names.filter { !gone.contains($0.key) }.map(\.value)
            .sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }
        switch target {
        case .inFlight:
            let flying = Set(inFlight.values.flatMap { $0 })
            let ids = names.filter { flying.contains($0.key) }.sorted { $0.key < $1.key }.map(\.value.id)
            if ids.isEmpty { return Array(waiting.map(\.id).prefix(1)) }
            return [process.chance.pick(ids)]
        case .olderPart:
            let flying = inFlight.values.flatMap { $0 }.compactMap { label in
                names[label].map { (offer: offers[label], createdAt: $0.createdAt) }
            }
            let parts = names.filter { label, name in
                !gone.contains(label)
                    && flying.contains { newer in
                        newer.offer?.key != nil && newer.offer?.key == offers[label]?.key
                            && newer.offer?.type == offers[label]?.type && name.createdAt < newer.createdAt
                    }
            }
            return parts.min { $0.key < $1.key }.map { [$0.value.id] } ?? ids(of: .waiting(0), process)
        case .waiting(let place): return waiting.isEmpty ? [] : [waiting[place % waiting.count].id]
        case .newest: return Array(waiting.map(\.id).suffix(1))
        case .failed: return Array(heard.failed.suffix(1))
        case .quarantined, .all, .host, .queue: return []
        }
    }
}
