internal import CSystem
internal import Drain
internal import Policy

/// The features of a plan: each adds its acts and faults with the chance `act`.
extension PlanMaker {
    mutating func add(_ feature: Feature, to plan: inout Plan) {
        switch feature {
        case .twoOperators: twoOperators(&plan)
        case .asNewest: asNewest(&plan)
        case .quarantine: quarantine(&plan)
        case .thenDrop: thenDrop(&plan)
        case .slowEdit: slowEdit(&plan)
        case .renewal: renewal(&plan)
        case .keptLock: keptLock(&plan)
        case .fullDisk: fullDisk(&plan)
        case .signals: signals(&plan)
        case .errors: errors(&plan)
        case .lateErrors: lateErrors(&plan)
        case .refusedFile: refusedFile(&plan)
        case .damage: damage(&plan)
        case .standstill:
            plan.faults.append(.standStill(at: when(), time: act.duration(.milliseconds(500), .seconds(120))))
        case .links: plan.movesByLink = true
        case .renamedHosts: renamedHosts(&plan)
        case .sharedFileSystem: sharedFileSystem(&plan)
        case .tokens: tokens(&plan)
        case .sharedHolds: sharedHolds(&plan)
        case .unreleased: plan.endsReleased = false
        case .limitsAndSend: limitsAndSend(&plan)
        case .interruptionsAndCuts: interruptionsAndCuts(&plan)
        case .probesAndRuns: probesAndRuns(&plan)
        case .retentionAndKeys: retentionAndKeys(&plan)
        case .bytes:
            plan.setup.bytes = 300 + act.below(1500)
            plan.setup.dropsOldest = act.happens(0.6)
        case .longTrouble: longTrouble(&plan)
        case .noRuns: noRuns(&plan)
        case .silentNeighbour: silentNeighbour(&plan)
        case .keyLimits: keyLimits(&plan)
        case .earlyTokens: earlyTokens(&plan)
        case .noNetwork:
            for _ in 0..<1 + act.below(2) {
                plan.absences.append(.init(from: when(), time: act.duration(.milliseconds(50), .seconds(60))))
            }
        }
    }

    // MARK: - Parts

    /// A moment at which processes come together, or soon after.
    private mutating func when(_ span: Duration = .seconds(2)) -> Duration {
        act.pick(moments) + act.duration(.zero, act.pick([.milliseconds(20), span]))
    }

    mutating func add(_ role: Plan.Role, at start: Duration, to plan: inout Plan) {
        add(role, to: &plan)
        plan.actors[plan.actors.count - 1].start = start
    }

    private mutating func command(_ verb: Command.Verb, _ target: Plan.Target) -> Plan.PlannedCommand {
        var command = Plan.PlannedCommand(verb, target)
        if act.happens(0.4) { command.moment = act.pick([.listing, .request, .reply]) }
        command.wait = act.duration(.zero, act.pick([.milliseconds(5), .seconds(2)]))
        return command
    }

    /// Lets some runs stay. Returns the number of such a run.
    @discardableResult
    private mutating func stays(_ plan: inout Plan) -> Int {
        // Alone, the run has nobody who sends what it leaves.
        if act.happens(0.5) {
            plan.actors.removeAll {
                switch $0.role {
                case .run, .command: true
                case .enter, .foreign, .send, .keepLock: false
                }
            }
        }
        var run = Plan.RunPlan()
        run.stay = act.happens(0.3) ? .untilEmpty : .during(act.duration(.seconds(5), .seconds(120)))
        run.maxTime = .seconds(600)
        add(.run(run), at: act.pick(moments), to: &plan)
        return actor
    }

    /// Lets the server refuse for good or for a time, so that dead letters and deferred operations come into being.
    private mutating func failures(_ plan: inout Plan) {
        for host in plan.servers.keys.sorted() {
            plan.servers[host]?.bad.formUnion((1...label + 1).filter { _ in act.happens(0.4) })
        }
    }

    // MARK: - Operators

    private mutating func twoOperators(_ plan: inout Plan) {
        if act.happens(0.5) { failures(&plan) }
        let target = act.pick([Plan.Target.waiting(0), .waiting(1), .newest, .failed, .inFlight, .olderPart])
        let start = when()
        for _ in 0..<2 {
            let verb = act.pick([
                Command.Verb.retry, .retry, .hold, .release, .drop, .drop, .exportAndDrop, .repair, .pause,
            ])
            var command = command(verb, verb == .pause || verb == .repair ? .queue : target)
            command.takesFollowers = verb == .drop && act.happens(0.4)
            var commands = [command]
            if verb == .pause { commands.append(self.command(.resume, .queue)) }
            if verb == .hold, act.happens(0.7) { commands.append(self.command(.release, .all(nil))) }
            add(.command(commands), at: start + act.duration(.zero, .milliseconds(3)), to: &plan)
            if act.happens(0.3) { plan.faults.append(.kill(actor: actor, call: 10 + act.below(60))) }
        }
    }

    private mutating func asNewest(_ plan: inout Plan) {
        failures(&plan)
        let start = when(.seconds(20))
        for _ in 0..<1 + act.below(2) {
            var command = command(.retry, act.happens(0.7) ? .failed : .all(nil))
            command.asNewest = true
            add(.command([command]), at: start + act.duration(.zero, .milliseconds(3)), to: &plan)
            if act.happens(0.3) { plan.faults.append(.kill(actor: actor, call: 10 + act.below(60))) }
        }
    }

    private mutating func quarantine(_ plan: inout Plan) {
        // The request of an operation kills each run, until the operation is in quarantine.
        if let host = plan.servers.keys.sorted().first {
            plan.servers[host]?.culprit = 1 + act.below(max(1, label))
            for _ in 0..<5 { add(.run(Plan.RunPlan()), at: when(.seconds(30)), to: &plan) }
        }
        let start = (moments.last ?? .zero) + act.duration(.zero, .seconds(40))
        for _ in 0..<1 + act.below(2) {
            var command = command(
                act.pick([.retry, .retry, .drop]), act.happens(0.6) ? .quarantined(act.below(2)) : .all(nil))
            if case .all = command.target { command.states = [.quarantined] }
            add(.command([command]), at: start, to: &plan)
        }
        add(.run(Plan.RunPlan()), at: start + .seconds(3), to: &plan)
    }

    private mutating func thenDrop(_ plan: inout Plan) {
        let type = act.pick(plan.setup.kinds).type
        let target = act.pick([Plan.Target.all(nil), .all(type), .waiting(0), .newest, .failed, .inFlight])
        let start = when()
        add(.command([command(.exportAndDrop, target)]), at: start, to: &plan)
        if act.happens(0.3) { plan.faults.append(.kill(actor: actor, call: 10 + act.below(60))) }
        guard act.happens(0.6) else { return }
        // Another operator edits the same operation.
        var offer = Plan.PlannedOffer(nextLabel(), type, key: nil, member: "m0")
        offer.idOf = act.pick([.waiting(0), .newest])
        var enter = Plan.EnterPlan([offer])
        enter.way = .importing(replaces: true)
        add(.enter(enter), at: start + act.duration(.zero, plan.schedule.syncPace * 4), to: &plan)
    }

    private mutating func slowEdit(_ plan: inout Plan) {
        for _ in 0..<1 + act.below(2) {
            var offer = Plan.PlannedOffer(nextLabel(), act.pick(plan.setup.kinds).type, key: nil, member: "m1")
            offer.idOf = act.pick([.waiting(0), .waiting(1), .newest, .inFlight, .failed])
            offer.edit = act.duration(.milliseconds(1), act.pick([.milliseconds(50), .seconds(5), .seconds(60)]))
            var enter = Plan.EnterPlan([offer])
            enter.way = .importing(replaces: true)
            add(.enter(enter), at: when(), to: &plan)
        }
    }

    mutating func nextLabel() -> Label {
        label += 1
        return label
    }

    // MARK: - Runs that stay

    private mutating func renewal(_ plan: inout Plan) {
        for _ in 0..<1 + act.below(3) { stays(&plan) }
        plan.renewals = (0..<1 + act.below(3)).map { _ in when(.seconds(30)) }
    }

    private mutating func keptLock(_ plan: inout Plan) {
        stays(&plan)
        for _ in 0..<1 + act.below(2) {
            let lock = act.pick(["lock", "lock", "names.lock", "names.lock", "names.lock", "sequence.lock"])
            let time = act.duration(.milliseconds(100), .seconds(8))
            let kind = plan.setup.kinds.first { lock == "sequence.lock" && $0.isSequential }
            let table = DestinationTable(plan.setup.configuration)
            let path = kind.map { "sequences/\(table.destination(of: $0.type, origin: nil).digest)" } ?? lock
            add(.keepLock(path: "state/\(path)", time: time), at: when(), to: &plan)
        }
    }

    private mutating func fullDisk(_ plan: inout Plan) {
        stays(&plan)
        plan.faults.append(
            .fillDisk(at: when(), free: act.pick([0, 0, 200]), time: act.duration(.milliseconds(50), .seconds(5))))
    }

    private mutating func signals(_ plan: inout Plan) {
        for host in plan.servers.keys.sorted() { plan.servers[host]?.latency = act.pick([.seconds(1), .seconds(4)]) }
        for actor in plan.actors {
            guard case .run = actor.role, act.happens(0.6) else { continue }
            let call = 20 + act.below(100)
            plan.faults.append(.interrupt(actor: actor.number, call: call))
            if act.happens(0.4) {
                plan.faults.append(.interrupt(actor: actor.number, call: call + 1 + act.below(40)))
            }
        }
    }

    // MARK: - Errors and damage

    private mutating func errors(_ plan: inout Plan) {
        for actor in plan.actors where act.happens(0.4) {
            let kind = act.pick([
                Call.Name.fsync, .fsync, .rename, .rename, .renameNoReplace, .renameNoReplace, .unlink, .open, .write,
                .list, .read,
            ])
            plan.faults.append(
                .errors(
                    actor: actor.number, of: kind, from: 1 + act.below(4 << act.below(4)),
                    count: act.pick([1, 2, 2, 1000]), code: act.pick([EIO, ENOSPC, EDQUOT, EROFS, EACCES, EPERM])))
        }
    }

    private mutating func lateErrors(_ plan: inout Plan) {
        plan.movesByLink = act.happens(0.5)
        for actor in plan.actors where act.happens(0.4) {
            plan.faults.append(
                .lateError(
                    actor: actor.number, of: act.pick([.rename, .renameNoReplace, .link, .unlink]),
                    nth: 1 + act.below(4 << act.below(4)), code: act.pick([ESTALE, EIO])))
        }
    }

    private mutating func refusedFile(_ plan: inout Plan) {
        plan.faults.append(
            .refuseFile(
                at: when(), place: act.below(3), code: act.pick([EACCES, EPERM, EIO]),
                time: act.pick([.milliseconds(100), .seconds(5), .seconds(3600)])))
    }

    private mutating func damage(_ plan: inout Plan) {
        for _ in 0..<1 + act.below(2) {
            plan.faults.append(
                .spoil(
                    at: when(), directory: act.pick(["new", "new", "deferred", "failed", "claimed", "delivered"]),
                    place: act.below(3), zeros: act.happens(0.3)))
        }
    }

    // MARK: - Machines and credentials

    private mutating func renamedHosts(_ plan: inout Plan) {
        plan.renamesHost = true
        for _ in 0..<5 {
            plan.faults.append(
                .cutPowerAfter(promise: 1 + act.below(25), wait: act.pick([.zero, .milliseconds(1)])))
            add(.run(Plan.RunPlan()), at: when(.seconds(20)), to: &plan)
        }
    }

    private mutating func sharedFileSystem(_ plan: inout Plan) {
        (plan.movesByLink, plan.isShared) = (true, true)
        if plan.hosts.count == 1 { plan.hosts.append(Plan.HostPlan()) }
        for index in plan.actors.indices { plan.actors[index].host = act.below(plan.hosts.count) }
    }

    private mutating func tokens(_ plan: inout Plan) {
        for index in plan.setup.kinds.indices where act.happens(0.7) { plan.setup.kinds[index].hasSecret = true }
        for _ in 0..<1 + act.below(2) {
            let asked = when(.seconds(10))
            plan.tokens.append(
                Plan.TokenPlan(asked: asked, known: asked + act.duration(.zero, act.pick([.seconds(2), .seconds(60)]))))
        }
    }

    private mutating func sharedHolds(_ plan: inout Plan) {
        plan.setup.holdProbe = .seconds(10)
        for index in plan.setup.kinds.indices { plan.setup.kinds[index].hasSecret = true }
        for host in plan.servers.keys.sorted() {
            plan.servers[host]?.latency = act.pick([.milliseconds(200), .seconds(2)])
            var from = act.duration(.zero, .seconds(2))
            plan.servers[host]?.modes = (0..<4).map { place in
                defer { from += act.duration(.milliseconds(100), .seconds(4)) }
                return .init(from: from, mode: place % 2 == 0 ? .unauthorized : .well)
            }
        }
        let start = act.pick(moments)
        for _ in 0..<3 {
            add(.run(Plan.RunPlan()), at: start + act.duration(.zero, .seconds(3)), to: &plan)
        }
    }

    // MARK: - Pairs

    private mutating func limitsAndSend(_ plan: inout Plan) {
        plan.setup.operations = 1 + act.below(4)
        plan.setup.dropsOldest = act.happens(0.7)
        for _ in 0..<2 {
            let offers = (0..<1 + act.below(2)).map { _ in
                Plan.PlannedOffer(nextLabel(), act.pick(plan.setup.kinds).type, key: "k0", member: "m0")
            }
            var send = Plan.SendPlan()
            if act.happens(0.3) { send.retryWithin = act.duration(.seconds(1), .seconds(30)) }
            add(.send(offers, send), at: when(), to: &plan)
        }
    }

    private mutating func interruptionsAndCuts(_ plan: inout Plan) {
        for _ in 0..<4 { plan.faults.append(.cutPowerAfter(promise: 1 + act.below(30), wait: .zero)) }
        for _ in 0..<4 {
            add(.run(Plan.RunPlan()), at: when(.seconds(20)), to: &plan)
            plan.faults.append(.kill(actor: actor, call: 40 + act.below(120)))
        }
    }

    private mutating func probesAndRuns(_ plan: inout Plan) {
        plan.setup.holdProbe = .seconds(10)
        for host in plan.servers.keys.sorted() {
            plan.servers[host]?.modes = [
                .init(from: .zero, mode: .storm(act.pick([404, 422]))),
                .init(from: act.duration(.seconds(5), .seconds(30)), mode: .well),
            ]
        }
        let start = when(.seconds(20))
        for _ in 0..<2 { add(.run(Plan.RunPlan()), at: start + act.duration(.zero, .milliseconds(50)), to: &plan) }
    }

    private mutating func retentionAndKeys(_ plan: inout Plan) {
        plan.setup.keepsFailed = .seconds(10)
        failures(&plan)
        for index in plan.setup.kinds.indices where plan.setup.kinds[index].order == .key {
            plan.setup.kinds[index].holdsBehindFailed = true
        }
        add(.run(Plan.RunPlan()), at: (moments.last ?? .zero) + .seconds(15), to: &plan)
    }
}
