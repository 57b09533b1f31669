internal import Drain
internal import Policy
internal import Spool

extension Universe {
    func command(
        _ commands: [Plan.PlannedCommand], _ spool: SpoolDirectory, _ process: SimulatedProcess
    ) throws(SpoolError) {
        for planned in commands {
            if planned.wait > .zero { process.sleep(until: scheduler.time + planned.wait) }
            try perform(planned, spool, process)
        }
        note(process.id, .ends(status: 0))
    }

    private func perform(
        _ planned: Plan.PlannedCommand, _ spool: SpoolDirectory, _ process: SimulatedProcess
    ) throws(SpoolError) {
        var command = Command(planned.verb)
        var entries: [Entry] = []
        switch planned.verb {
        case .pause, .resume:
            note(process.id, .commands(command))
            try spool.setPaused(planned.verb == .pause)
            return note(process.id, .done)
        case .holdDestination, .releaseDestination:
            guard case .host(let host) = planned.target else { return }
            command.host = host
            note(process.id, .commands(command))
            try record(
                planned.verb == .holdDestination ? .heldByHand(reason: "simulated") : .released, of: "http://\(host)",
                spool, process)
            return note(process.id, .done)
        case .repair:
            note(process.id, .commands(command))
            let recovery = spool.repair(now: now(on: process.host))
            if !recovery.returned.isEmpty {
                note(process.id, .reports(.recovered(recovery.returned.map(\.name.id))))
            }
            for item in recovery.quarantined {
                note(process.id, .reports(.quarantined(item.name?.id, path: item.fileName)))
            }
            for error in recovery.errors { note(process.id, .reports(.error("\(error)"))) }
            return note(process.id, .done)
        case .retry, .hold, .release, .drop: break
        }
        if case .all(let type) = planned.target {
            command.type = type
            note(process.id, .commands(command))
            for state in [QueueState.new, .deferred, .failed] {
                try spool.forEachEntry(in: state) { entry in
                    if type == nil || entry.name.type == type { entries.append(entry) }
                }
            }
        } else {
            let ids = ids(of: planned.target, process)
            if ids.isEmpty { return }
            command.ids = ids
            note(process.id, .commands(command))
            for state in QueueState.allCases where state != .delivered && state != .quarantine {
                try spool.forEachEntry(in: state) { if ids.contains($0.name.id) { entries.append($0) } }
            }
        }
        var changed: [Entry] = []
        var work = Result<Void, SpoolError>.success(())
        try spool.withSharedSyncs {
            work = Result { () throws(SpoolError) in
                for entry in entries where try change(planned.verb, entry, spool, process) { changed.append(entry) }
            }
        }
        let done = Set(changed.map(\.name.id))
        for entry in entries {
            note(process.id, done.contains(entry.name.id) ? .changed(entry.name.id) : .leftAlone(entry.name.id))
        }
        try work.get()
    }

    private func change(
        _ verb: Command.Verb, _ entry: Entry, _ spool: SpoolDirectory, _ process: SimulatedProcess
    ) throws(SpoolError) -> Bool {
        let now = now(on: process.host)
        switch verb {
        case .retry: return try spool.retry(entry, now: now) != nil
        case .hold: return entry.name.isHeld ? false : try spool.hold(entry) != nil
        case .release: return entry.name.isHeld ? try spool.release(entry, now: now) != nil : false
        case .drop: return try spool.drop(entry)
        case .pause, .resume, .holdDestination, .releaseDestination, .repair: return false
        }
    }

    private func record(
        _ event: DestinationEvent, of destination: String, _ spool: SpoolDirectory, _ process: SimulatedProcess
    ) throws(SpoolError) {
        let table = DestinationTable(configuration)
        try DestinationsFile(spool: spool).record(
            [(destination, event)], settings: { table.settings(of: Destination(named: $0)) },
            at: now(on: process.host), durable: true)
    }

    /// Ends every hold and pause, as the calm end begins.
    func releaseEverything(_ process: SimulatedProcess) {
        do throws(SpoolError) {
            let spool = try SpoolDirectory(opening: Self.queue, system: calls(of: process))
            try perform(Plan.PlannedCommand(.resume, .queue), spool, process)
            for host in Set(plan.setup.kinds.map(\.host)).sorted() {
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
            var inFlight = 0
            for event in history.events {
                switch event.what {
                case .receives: inFlight += 1
                case .learns: inFlight -= 1
                default: break
                }
            }
            if inFlight > 0 { return }
            process.sleep(until: scheduler.time + .milliseconds(5))
        }
    }

    /// The ids that a target means at this moment, from what the world has seen.
    func ids(of target: Plan.Target, _ process: SimulatedProcess) -> [OperationID] {
        switch target {
        case .inFlight, .olderPart: awaitRequest(process)
        case .waiting, .newest, .failed, .all, .host, .queue: break
        }
        var offers: [Label: Offer] = [:]
        var names: [Label: EntryName] = [:]
        var inFlight: [Int: [Label]] = [:]
        var gone: Set<Label> = []
        var failed: [OperationID] = []
        for event in history.events {
            switch event.what {
            case .offers(let offer): offers[offer.label] = offer
            case .answers(let label, .accepted(let name)): names[label] = name
            case .names(let label, let name): names[label] = name
            case .receives(let request): inFlight[request.number] = request.bodies.flatMap { $0 }
            case .replies(_, let reply): gone.formUnion(reply.applied)
            case .learns(let number): inFlight[number] = nil
            case .reports(.failed(let id, _)): failed.append(id)
            default: break
            }
        }
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
        case .failed: return Array(failed.suffix(1))
        case .all, .host, .queue: return []
        }
    }
}
