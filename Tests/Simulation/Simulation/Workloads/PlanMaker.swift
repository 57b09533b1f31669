internal import Drain
internal import Policy

/// Makes plans. Each seed has a subset of all features and its own rates (swarm testing, Groce et al. 2012): two
/// features that mask each other are apart in some plans.
struct PlanMaker {
    var chance: Chance
    /// The chance of the variations: their draws change nothing else of a plan.
    var variety: Chance
    /// The chance of a feature: its draws change no other feature.
    var act = Chance(seed: 0)
    private let acts: UInt64
    var label = 0
    private(set) var actor = 0
    /// The moments at which processes come together.
    var moments: [Duration] = []

    init(seed: UInt64, place: UInt64) {
        // Mixed first: the generator adds the same step to its state each time, so near seeds would share their
        // numbers.
        var mixed = Chance(seed: seed ^ place << 56)
        chance = Chance(seed: mixed.next())
        variety = Chance(seed: mixed.next())
        acts = mixed.next()
    }

    mutating func plan(of workload: Workload, _ seed: UInt64, _ features: [Feature]) -> Plan {
        var plan = workload == .pairs ? pairs(seed) : drawnPlan(of: workload)
        for feature in features {
            act = Chance(seed: acts &+ feature.number &* 0x9E37_79B9_7F4A_7C15)
            add(feature, to: &plan)
        }
        return plan
    }

    private mutating func drawnPlan(of workload: Workload) -> Plan {
        var plan = Plan(setup: setup(of: workload))
        let count = 2 + chance.below(4)
        var moment = Duration.zero
        for _ in 0..<count {
            moments.append(moment)
            moment += chance.duration(.milliseconds(100), chance.happens(0.3) ? .seconds(90) : .seconds(8))
        }
        schedule(&plan)
        servers(&plan, workload)
        actors(&plan, workload)
        strangers(&plan, workload)
        faults(&plan, workload)
        if workload == .hosts || chance.happens(0.1) { hosts(&plan, workload) }
        focus(&plan)
        vary(&plan, workload)
        return plan
    }

    // MARK: - The setup

    private mutating func setup(of workload: Workload) -> Setup {
        var kinds: [Setup.Kind] = []
        func kind(_ name: String, _ host: String = "one") -> Setup.Kind { Setup.Kind(TypeName(name)!, host: host) }
        var main = kind("a")
        switch workload {
        case .plain, .limits, .long, .operators, .foreign, .send, .importing, .hosts, .storms, .mixed:
            switch chance.below(workload == .plain ? 1 : 6) {
            case 0: break
            case 1: main.order = .key
            case 2: main.order = .strict
            case 3: main.coalescing = .replace
            case 4: main.coalescing = .merge
            default: main.coalescing = .replace; main.order = chance.pick([.key, .strict])
            }
        case .key: main.order = .key
        case .strict: main.order = .strict
        case .newest: main.order = .newest
        case .coalesce:
            main.coalescing = .replace
            main.order = chance.pick([.any, .any, .key, .strict])
        case .merge:
            main.coalescing = .merge
            main.order = chance.pick([.any, .any, .key, .strict])
        case .chains:
            main.keeps = true
            main.order = chance.pick([.any, .key])
        case .batches:
            main.order = chance.pick([.any, .any, .key])
        // Its plans are counted, see `pairs`.
        case .pairs: break
        }
        if main.order == .key || main.order == .strict { main.holdsBehindFailed = chance.happens(0.3) }
        // A batch leaves no values (drainq-config(5), `keep`).
        if workload == .batches || chance.happens(0.1), main.coalescing == .none, !main.keeps {
            main.batch = 2 + chance.below(4)
            main.hasResults = chance.happens(0.5)
        }
        if workload == .storms || chance.happens(0.15) { main.hasSecret = true }
        if chance.happens(0.15) { main.expiresAfter = .seconds(20 + Int64(chance.below(60))) }
        if chance.happens(0.2) { main.delays = [.seconds(1)] }
        kinds.append(main)
        if workload == .chains {
            var follower = kind("b")
            follower.needsKept = true
            follower.order = main.order
            kinds.append(follower)
        } else if workload == .mixed || chance.happens(0.3) {
            var other = kind("b", chance.happens(0.5) ? "two" : "one")
            if chance.happens(0.5) { other.order = chance.pick([.key, .any]) }
            kinds.append(other)
        }
        var setup = Setup(kinds: kinds)
        if workload == .limits || workload == .mixed && chance.happens(0.3) {
            setup.operations = 2 + chance.below(6)
            setup.dropsOldest = chance.happens(0.6)
        }
        if chance.happens(0.2) { setup.keepsDelivered = .seconds(3600) }
        if chance.happens(0.15) { setup.concurrency = 1 + chance.below(2) }
        if chance.happens(0.1) { setup.keepsFailed = chance.pick([.seconds(30), .seconds(3600)]) }
        return setup
    }

    // MARK: - The schedule

    mutating func schedule(_ plan: inout Plan) {
        plan.schedule.seed = chance.next()
        switch chance.below(10) {
        case 0..<6:
            plan.schedule.style = .priorities
            // Change points beyond the typical number of calls have no effect: the depth is smaller then.
            let length = 200 << chance.below(5)
            plan.schedule.changePoints = (0..<chance.below(7)).map { _ in 1 + chance.below(length) }
        case 6..<9:
            plan.schedule.style = .random(
                often: chance.pick([0.05, 0.2, 0.5]), seldom: chance.pick([0.0, 0.01, 0.05]))
        default: plan.schedule.style = .turns
        }
        plan.schedule.pace = chance.pick([.microseconds(10), .microseconds(30), .microseconds(300)])
        plan.schedule.syncPace = chance.pick([.microseconds(100), .milliseconds(1), .milliseconds(10)])
    }

    private mutating func hosts(_ plan: inout Plan, _ workload: Workload) {
        let count = workload == .hosts ? 2 + chance.below(2) : 1
        plan.hosts = (0..<count).map { index in
            var host = Plan.HostPlan()
            if chance.happens(0.3) { host.ahead = chance.duration(.seconds(-30), .seconds(30)) }
            if chance.happens(0.3), let moment = moments.last {
                let by = chance.pick([Duration.seconds(-3600), .seconds(-5), .seconds(5), .seconds(7200)])
                host.steps = [(at: moment / 2, by: by)]
            }
            return host
        }
        for index in plan.actors.indices { plan.actors[index].host = chance.below(count) }
    }

    // MARK: - Servers

    private mutating func servers(_ plan: inout Plan, _ workload: Workload) {
        for host in Set(plan.setup.kinds.map(\.host)).sorted() {
            var server = Plan.ServerPlan()
            server.latency = chance.pick([.milliseconds(1), .milliseconds(20), .milliseconds(200), .seconds(2)])
            if chance.happens(0.4) { server.losesAfter = chance.pick([0.05, 0.3]) }
            if chance.happens(0.3) { server.losesBefore = 0.1 }
            if chance.happens(0.2) { server.agentDies = 0.1 }
            if chance.happens(0.1) { server.stalls = 0.1 }
            if chance.happens(0.35) { server.bad = Set((1...20).filter { _ in chance.happens(0.15) }) }
            if workload == .storms || chance.happens(0.4) {
                var from = Duration.zero
                for _ in 0..<1 + chance.below(3) {
                    let mode: Plan.ServerPlan.Mode =
                        switch chance.below(6) {
                        case 0: .flaky(status: 503, share: chance.pick([0.3, 1]))
                        case 1: .down
                        case 2: plan.setup.kinds.contains { $0.hasSecret } ? .unauthorized : .down
                        case 3: .limited(retryAfter: chance.pick([1, 30]))
                        case 4: workload == .storms ? .storm(chance.pick([404, 422])) : .flaky(status: 500, share: 0.5)
                        default: .well
                        }
                    server.modes.append(.init(from: from, mode: mode))
                    from += chance.duration(.seconds(1), .seconds(30))
                }
                server.modes.append(.init(from: from, mode: .well))
            }
            plan.servers[host] = server
        }
    }

    // MARK: - Actors

    private mutating func actors(_ plan: inout Plan, _ workload: Workload) {
        let keys = (0..<1 + chance.below(3)).map { "k\($0)" }
        for _ in 0..<2 + chance.below(4) { add(entering(plan, workload, keys), to: &plan) }
        for _ in 0..<2 + chance.below(5) { add(.run(run(plan, workload)), to: &plan) }
        let commands = workload == .operators ? 2 + chance.below(3) : chance.below(3) / 2 + (workload == .merge ? 1 : 0)
        for _ in 0..<commands { add(.command(self.commands(plan)), to: &plan) }
        // Most histories begin with operations in the queue.
        if chance.happens(0.8),
            let first = plan.actors.firstIndex(where: { if case .enter = $0.role { true } else { false } })
        {
            plan.actors[first].start = .zero
        }
    }

    /// Lets other programs act as another user, in a directory open to all.
    private mutating func strangers(_ plan: inout Plan, _ workload: Workload) {
        guard chance.happens(workload == .foreign ? 0.4 : 0.1) else { return }
        plan.isOpenToAll = true
        for index in plan.actors.indices {
            if case .foreign = plan.actors[index].role, chance.happens(0.8) { plan.actors[index].user = 1000 }
        }
    }

    mutating func add(_ role: Plan.Role, to plan: inout Plan) {
        actor += 1
        let start = chance.pick(moments) + chance.duration(.zero, chance.pick([.milliseconds(3), .milliseconds(60)]))
        plan.actors.append(Plan.Actor(number: actor, start: start, role: role))
    }

    private mutating func offers(_ plan: Plan, _ most: Int, _ keys: [String]) -> [Plan.PlannedOffer] {
        (0..<1 + chance.below(most)).map { _ in
            label += 1
            let kind = chance.pick(plan.setup.kinds)
            let isKeyed = kind.isSequential || kind.keeps || kind.needsKept
            var offer = Plan.PlannedOffer(
                label, kind.type, key: isKeyed && chance.happens(0.95) ? chance.pick(keys) : nil,
                member: "m\(chance.below(3))")
            if chance.happens(0.25) { offer.hasOwnID = true }
            if chance.happens(0.1) { offer.notBefore = chance.duration(.seconds(-5), .seconds(40)) }
            if chance.happens(0.08) { offer.expires = chance.duration(.seconds(1), .seconds(60)) }
            if chance.happens(0.2) { offer.wait = chance.duration(.zero, .milliseconds(30)) }
            return offer
        }
    }

    private mutating func entering(_ plan: Plan, _ workload: Workload, _ keys: [String]) -> Plan.Role {
        let choice: Int =
            switch workload {
            case .foreign: chance.pick([0, 2, 2, 2])
            case .send: chance.pick([0, 3, 3])
            case .importing: chance.pick([0, 1, 1])
            case .merge: chance.pick([0, 0, 0, 1, 2, 3])
            case .mixed: chance.pick([0, 0, 1, 2, 3])
            default: chance.pick([0, 0, 0, 0, 0, 2, 3])
            }
        switch choice {
        case 2:
            var offers = offers(plan, 4, keys)
            for index in offers.indices {
                if chance.happens(0.2) { offers[index].age = chance.duration(.seconds(-1), .seconds(20)) }
                if chance.happens(0.2) { offers[index].isDurable = false }
            }
            return .foreign(offers)
        case 3:
            var send = Plan.SendPlan()
            if chance.happens(0.3) { send.retryWithin = chance.duration(.seconds(1), .seconds(30)) }
            var offers = offers(plan, 2, keys)
            for index in offers.indices { offers[index].notBefore = nil }
            if chance.happens(0.1) { send.isQueued = false }
            return .send(offers, send)
        default:
            var enter = Plan.EnterPlan(offers(plan, 5, keys))
            // A clock that was never set, and a clock that is years ahead.
            if chance.happens(0.05) { enter.offers[0].age = .seconds(chance.pick([60, -1]) * 31_600_000) }
            enter.isAtomic = chance.happens(0.15)
            if choice == 1 {
                enter.way = .importing(replaces: chance.happens(0.7))
            } else if chance.happens(0.1) {
                enter.way = .writer
            }
            if enter.way == .importing(replaces: true) {
                for index in enter.offers.indices where chance.happens(0.8) {
                    enter.offers[index].idOf = chance.pick([.inFlight, .olderPart, .waiting(0), .waiting(1), .newest])
                    enter.offers[index].hasOwnID = false
                }
            }
            for index in enter.offers.indices.dropFirst() where chance.happens(0.25) {
                enter.pauses[index] = chance.duration(.milliseconds(1), .seconds(2))
            }
            return .enter(enter)
        }
    }

    private mutating func run(_ plan: Plan, _ workload: Workload) -> Plan.RunPlan {
        var run = Plan.RunPlan()
        run.concurrency = chance.pick([1, 2, 5, nil])
        if chance.happens(0.15) { run.limit = 1 + chance.below(3) }
        if workload == .long ? chance.happens(0.7) : chance.happens(0.1) {
            run.stay = chance.happens(0.5) ? .untilEmpty : .during(chance.duration(.seconds(1), .seconds(120)))
            run.maxTime = .seconds(600)
        } else if chance.happens(0.1) {
            run.maxTime = chance.duration(.milliseconds(20), .seconds(5))
        }
        if chance.happens(0.1) { run.ignoresBackoff = true }
        if chance.happens(0.1) { run.types = [chance.pick(plan.setup.kinds).type] }
        if chance.happens(0.07) { run.target = chance.pick([.waiting(0), .waiting(1), .newest, .inFlight]) }
        return run
    }

    private mutating func commands(_ plan: Plan) -> [Plan.PlannedCommand] {
        func wait(_ chance: inout Chance) -> Duration {
            chance.duration(.milliseconds(1), chance.pick([.milliseconds(20), .seconds(3)]))
        }
        let target = chance.pick([
            Plan.Target.inFlight, .inFlight, .olderPart, .waiting(0), .waiting(1), .newest, .failed,
        ])
        switch chance.below(11) {
        case 10:
            var repair = Plan.PlannedCommand(.repair, .queue)
            repair.wait = wait(&chance)
            return [repair]
        case 0..<3:
            var commands = [Plan.PlannedCommand(.retry, chance.happens(0.2) ? .all(nil) : target)]
            commands[0].wait = wait(&chance)
            return commands
        case 3..<6:
            var hold = Plan.PlannedCommand(.hold, target)
            hold.wait = wait(&chance)
            var release = Plan.PlannedCommand(.release, .all(nil))
            release.wait = wait(&chance)
            return chance.happens(0.7) ? [hold, release] : [hold]
        case 6..<8:
            var drop = Plan.PlannedCommand(.drop, chance.happens(0.1) ? .all(nil) : target)
            drop.wait = wait(&chance)
            return [drop]
        case 8:
            var pause = Plan.PlannedCommand(.pause, .queue)
            pause.wait = wait(&chance)
            var resume = Plan.PlannedCommand(.resume, .queue)
            resume.wait = wait(&chance)
            return [pause, resume]
        default:
            let host = chance.pick(plan.setup.kinds).host
            var hold = Plan.PlannedCommand(.holdDestination, .host(host))
            hold.wait = wait(&chance)
            var release = Plan.PlannedCommand(.releaseDestination, .host(host))
            release.wait = wait(&chance)
            return [hold, release]
        }
    }

    // MARK: - Faults

    private mutating func faults(_ plan: inout Plan, _ workload: Workload) {
        let (kills, stalls, errors) = (
            chance.pick([0, 0, 0.2, 0.5]), chance.pick([0, 0.3, 0.6]), chance.pick([0, 0, 0.2])
        )
        for actor in plan.actors {
            func call(_ chance: inout Chance) -> Int { 1 + chance.below(8 << chance.below(7)) }
            if chance.happens(kills) { plan.faults.append(.kill(actor: actor.number, call: call(&chance))) }
            if chance.happens(stalls) {
                let time = chance.duration(.milliseconds(1), chance.pick([.milliseconds(50), .seconds(5)]))
                plan.faults.append(.stall(actor: actor.number, call: call(&chance), time: time))
            }
            if chance.happens(errors) {
                let code = chance.pick([5, 28, 24, 13])
                plan.faults.append(.error(actor: actor.number, call: call(&chance), code: Int32(code)))
            }
            if chance.happens(errors / 2) { plan.faults.append(.interrupt(actor: actor.number, call: call(&chance))) }
        }
        if chance.happens(0.06) {
            let moment = chance.pick(moments) + chance.duration(.zero, .milliseconds(80))
            plan.faults.append(
                .fillDisk(
                    at: moment, free: chance.pick([0, 100, 1500]),
                    time: chance.duration(.milliseconds(20), chance.pick([.seconds(1), .seconds(60)]))))
        }
        if chance.happens(0.12) { cutPower(&plan) }
        if chance.happens(0.03) { for _ in 0..<5 { cutPower(&plan) } }
        if chance.happens(0.05) {
            let moment = chance.pick(moments) + chance.duration(.zero, .milliseconds(200))
            plan.faults.append(.damage(at: moment, place: chance.below(3)))
        }
    }

    mutating func cutPower(_ plan: inout Plan) {
        plan.faults.append(.cutPower(at: chance.pick(moments) + chance.duration(.zero, .milliseconds(80))))
    }
}
