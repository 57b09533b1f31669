internal import Drain
internal import Policy

/// Rare variations of a plan, with a chance of their own.
extension PlanMaker {
    mutating func vary(_ plan: inout Plan, _ workload: Workload) {
        for index in plan.setup.kinds.indices where variety.happens(0.3) { plan.setup.kinds[index].jitter = 0.2 }
        for host in plan.servers.keys.sorted() {
            if variety.happens(0.1) { plan.servers[host]?.agentHangs = 0.05 }
            if variety.happens(0.15) { plan.servers[host]?.trickles = variety.pick([0.05, 0.3]) }
        }
        for index in plan.actors.indices { vary(&plan.actors[index].role, plan.setup) }
        stops(&plan)
        if workload == .hosts, variety.happens(0.15) { unsetClock(&plan) }
        if variety.happens(0.04) { deaths(&plan) }
        if variety.happens(0.04) { culprit(&plan) }
        if variety.happens(0.04) { sharedIDs(&plan) }
        // Operations of several types stand in one strict order.
        for index in plan.setup.kinds.indices.dropFirst() where plan.setup.kinds[0].order == .strict {
            let kind = plan.setup.kinds[index]
            if kind.host == plan.setup.kinds[0].host, kind.order == .any, variety.happens(0.5) {
                plan.setup.kinds[index].order = .strict
            }
        }
        // A history is shorter than an hour.
        if workload == .storms, variety.happens(0.5) { plan.setup.holdProbe = .seconds(10) }
    }

    /// Gives several operations the same id, like a program that adds an operation again because it is not sure of the
    /// first time.
    private mutating func sharedIDs(_ plan: inout Plan) {
        // A report of either operation would be taken for the value of the other operation.
        if plan.setup.kinds.contains(where: \.keeps) { return }
        var first: Label?
        for actor in plan.actors.indices where !plan.actors[actor].role.imports {
            for index in plan.actors[actor].role.offers.indices where variety.happens(0.4) {
                var offer = plan.actors[actor].role.offers[index]
                offer.hasOwnID = true
                offer.sharesIDWith = first
                first = first ?? offer.label
                plan.actors[actor].role.offers[index] = offer
            }
        }
    }

    /// Lets the request of an operation kill each run that sends the operation, like a defect in a run triggered by the
    /// operation's content.
    private mutating func culprit(_ plan: inout Plan) {
        guard let host = plan.servers.keys.sorted().first else { return }
        plan.servers[host]?.culprit = 1 + variety.below(4)
        let first = plan.actors.count
        for _ in 0..<6 + variety.below(4) { add(.run(Plan.RunPlan()), to: &plan) }
        for index in plan.actors.indices[first...] {
            plan.actors[index].start = variety.pick(moments) + variety.duration(.zero, .seconds(30))
        }
    }

    private mutating func vary(_ role: inout Plan.Role, _ setup: Setup) {
        switch role {
        case .enter(var enter):
            // The input stays open, and runs come meanwhile.
            for place in enter.pauses.keys.sorted() where variety.happens(0.15) {
                enter.pauses[place] = variety.duration(.seconds(1), .seconds(120))
            }
            role = .enter(enter)
        case .command(var commands):
            if commands.first?.verb == .pause, variety.happens(0.4) {
                let host = variety.pick(setup.kinds).host
                for index in commands.indices { commands[index].target = .host(host) }
            }
            for index in commands.indices { vary(&commands[index]) }
            role = .command(commands)
        case .run, .foreign, .send, .keepLock: break
        }
    }

    /// Lets an operator act on operations that are just being listed, sent or answered, and choose by more than ids.
    private mutating func vary(_ command: inout Plan.PlannedCommand) {
        if variety.happens(0.4) {
            command.moment = variety.pick([.listing, .request, .reply])
            command.wait = variety.duration(.zero, .seconds(2))
        }
        command.takesFollowers = command.verb == .drop && variety.happens(0.3)
        if command.verb == .retry, variety.happens(0.15) {
            command.spacing = variety.duration(.milliseconds(100), .seconds(5))
        }
        guard case .all = command.target else { return }
        if variety.happens(0.2) { command.limit = 1 + variety.below(3) }
        guard variety.happens(0.3) else { return }
        switch command.verb {
        case .retry: command.states = variety.pick([[.failed], [.deferred], [.held]])
        case .drop: command.states = variety.pick([[.failed], [.deferred], [.held], [.new]])
        case .hold: command.states = variety.pick([[.new], [.deferred]])
        case .release, .pause, .resume, .holdDestination, .releaseDestination, .repair, .exportAndDrop: break
        }
    }

    /// Stops processes (SIGSTOP) and wakes them later.
    private mutating func stops(_ plan: inout Plan) {
        let share = variety.pick([0, 0, 0, 0.3])
        for actor in plan.actors where variety.happens(share) {
            plan.faults.append(
                .stop(
                    actor: actor.number, call: 1 + variety.below(8 << variety.below(7)),
                    time: variety.duration(
                        .milliseconds(1), variety.pick([.milliseconds(50), .seconds(5), .seconds(60)]))))
        }
    }

    /// Gives a host an unset clock: the clock begins in 1970, and is right later.
    private mutating func unsetClock(_ plan: inout Plan) {
        let age = Universe.epoch - Timestamp(microseconds: 0)
        let host = variety.below(plan.hosts.count)
        plan.hosts[host] = Plan.HostPlan()
        plan.hosts[host].ahead = .zero - age
        plan.hosts[host].steps = [(at: variety.pick(moments), by: age)]
    }

    /// Lets runs die in sequence, each soon after the run has begun to send.
    private mutating func deaths(_ plan: inout Plan) {
        let first = plan.actors.count
        for _ in 0..<4 + variety.below(5) { add(.run(Plan.RunPlan()), to: &plan) }
        for index in plan.actors.indices[first...] {
            plan.actors[index].start = variety.pick(moments) + variety.duration(.zero, .seconds(20))
            plan.faults.append(.kill(actor: plan.actors[index].number, call: 40 + variety.below(120)))
        }
    }
}

extension Plan.Role {
    /// Whether the role imports: an id then means the operation with the id.
    fileprivate var imports: Bool {
        if case .enter(let plan) = self, case .importing = plan.way { true } else { false }
    }
}
