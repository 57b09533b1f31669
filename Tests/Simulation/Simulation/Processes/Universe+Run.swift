internal import CSystem
internal import Drain
internal import Policy
internal import Spool

extension Universe {
    /// Lets a process play its role.
    func perform(_ role: Plan.Role, _ process: SimulatedProcess) {
        // Another user cannot open the queue.
        if case .foreign(let offers) = role { return putForeignFiles(offers, process) }
        do throws(SpoolError) {
            let spool = try SpoolDirectory(opening: Self.queue, system: calls(of: process))
            switch role {
            case .run(let plan): try run(plan, spool, process)
            case .enter(let plan): try enter(plan, spool, process)
            case .foreign: break
            case .send(let offers, let plan): try send(offers, plan, spool, process)
            case .command(let commands): try command(commands, spool, process)
            case .keepLock(let path, let time): keepLock(path, time, process)
            }
        } catch {
            note(process.id, .reports(.error("\(error)")))
            note(process.id, .ends(status: 74))
        }
    }

    /// Takes a lock of the queue and keeps it for a time.
    private func keepLock(_ path: String, _ time: Duration, _ process: SimulatedProcess) {
        let calls = calls(of: process)
        keepers.insert(process.id)
        do throws(Errno) {
            if path.hasPrefix("state/sequences/") {
                // try?: a run may have made the directory.
                try? calls.makeDirectory(AT_FDCWD, "\(Self.queue)/state/sequences".rawCString, 0o700)
            }
            let file = try calls.open(AT_FDCWD, "\(Self.queue)/\(path)".rawCString, O_RDWR | O_CREAT, 0o600)
            while try !calls.lock(file) { process.sleep(until: scheduler.time + .milliseconds(5)) }
            process.sleep(until: scheduler.time + time)
            try calls.close(file)
        } catch {
            note(process.id, .reports(.error("\(error)")))
        }
        note(process.id, .ends(status: 0))
    }

    // MARK: - Runs

    private func run(_ plan: Plan.RunPlan, _ spool: SpoolDirectory, _ process: SimulatedProcess) throws(SpoolError) {
        var options = RunOptions(
            limit: plan.limit, concurrency: plan.concurrency.map { .atMost($0) } ?? .auto, maxTime: plan.maxTime,
            stay: plan.stay, ignoresBackoff: plan.ignoresBackoff, types: plan.types)
        if let target = plan.target {
            let ids = ids(of: target, process)
            if ids.isEmpty { return note(process.id, .ends(status: 0)) }
            options.ids = Set(ids)
        }
        var choice = RunChoice()
        choice.ids = options.ids
        choice.types = plan.types
        choice.limit = plan.limit
        choice.concurrency = plan.concurrency
        choice.isNow = plan.ignoresBackoff
        choice.maxTime = plan.maxTime
        choice.stays = plan.stay != .no
        choice.isUntilEmpty = plan.stay == .untilEmpty
        note(process.id, .runs(choice))
        let run = Run(spool: spool, configuration: configuration, options: options, world: world(of: process)) {
            [unowned self] event in
            take(event, of: process)
        }
        let summary = try run()
        callHooks(of: process)
        note(
            process.id,
            .endsRun(
                status: Self.status(of: summary), leftDue: summary.leftDue,
                waits: summary.waiting > 0 || summary.nextDue != nil))
    }

    /// The exit status by EXIT STATUS of drainq(1).
    private static func status(of summary: RunSummary) -> Int32 {
        let statuses = summary.outcomes.map { outcome -> (precedence: Int, status: Int32) in
            switch outcome {
            case .cutOff: (0, 143)
            case .inputOutput: (1, 74)
            case .held: (2, 69)
            case .failed: (3, 1)
            case .quarantined: (4, 65)
            case .deferred: (5, 75)
            }
        }
        return statuses.min { $0.precedence < $1.precedence }?.status ?? 0
    }

    func take(_ event: RunEvent, of process: SimulatedProcess) {
        for report in reports(of: event) { note(process.id, .reports(report)) }
    }

    /// Takes the events of `send` besides the end of its operation, which the answer tells.
    func takeAside(_ event: RunEvent, of process: SimulatedProcess) {
        switch event {
        case .attempted, .settledUnsent, .parked, .withheld: break
        default: take(event, of: process)
        }
    }

    private func reports(of event: RunEvent) -> [Report] {
        switch event {
        case .attempted(let attempt), .settledUnsent(let attempt): [report(of: attempt)]
        // The model knows a delivery by its answer.
        case .foundEnded(let attempt): attempt.hasFailed ? [report(of: attempt)] : []
        case .quarantined(let item): [.quarantined(item.name?.id, path: item.fileName)]
        case .changed(let change): reports(of: change)
        case .parked(let id, _, _, let times): [.parked(id)] + (times > 1 ? [.withheld(id)] : [])
        case .withheld(let id, _): [.withheld(id)]
        case .superseded(let name, let newer, _): [.superseded(name.id, by: newer)]
        case .evicted(let name, destination: _): [.evicted(name.id)]
        case .recovered(let recovery):
            [.recovered(recovery.returned.map(\.name.id))]
                + recovery.quarantined.map { .quarantined($0.name?.id, path: $0.fileName) }
        case .inputOutputError(let error): [.error("\(error)")]
        case .agentsFailed(let reason): [.error(reason)]
        case .chosen, .networkAbsent, .notKept, .stopping: []
        }
    }

    private func reports(of change: LogEvent) -> [Report] {
        switch change.kind {
        case .held: [.destinationHeld(change.destination ?? "")]
        case .released: [.holdEnded(change.destination ?? "")]
        case .down: [.tells(Told(.down, Self.host(of: change.destination ?? "")))]
        case .up:
            [
                .tells(
                    Told(
                        change.ended == LogEvent.Ending.delivery.rawValue ? .up : .forgotten,
                        Self.host(of: change.destination ?? "")))
            ]
        default: []
        }
    }

    private func report(of attempt: AttemptEvent) -> Report {
        switch attempt.settlement.disposition {
        case .delivered: .delivered(attempt.id)
        case .deferred(_, let counted): .deferred(attempt.id, counted: counted)
        case .putBack: .putBack(attempt.id)
        case .held: .ambiguous(attempt.id)
        case .superseded: .superseded(attempt.id, by: nil)
        case .failed:
            if attempt.record.ruleCode == .expired {
                .failed(attempt.id, isExpired: true)
            } else {
                .failed(attempt.id, isExpired: false)
            }
        case .quarantined: .quarantined(attempt.id, path: "")
        }
    }
}

extension Plan.Role {
    /// The role as an operator would write its command.
    var name: String {
        switch self {
        case .run(let plan):
            switch plan.stay {
            case .no: "run"
            case .during(let time): "run --wait \(time.quantity)"
            case .untilEmpty: "run --until-empty"
            }
        case .enter(let plan):
            switch plan.way {
            case .add: plan.isAtomic ? "add --atomic" : "add"
            case .importing(let replaces): "import\(replaces ? " --replace" : "")\(plan.isAtomic ? " --atomic" : "")"
            case .writer: "a program with SpoolWriter\(plan.isAtomic ? ", all at once" : "")"
            }
        case .foreign: "a program that renames files into new/"
        case .send(_, let plan): plan.isQueued ? "send" : "send --no-queue"
        case .keepLock(let path, _): "a process that keeps \(path)"
        case .command(let commands): commands.first.map { "an operator: \($0.verb.rawValue)" } ?? "an operator"
        }
    }
}
