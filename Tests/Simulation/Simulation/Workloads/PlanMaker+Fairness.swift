internal import Drain
internal import Policy

/// Destinations and keys that could take the slots and the time of others.
extension PlanMaker {
    /// Adds a destination that never answers, with older operations than the others have.
    mutating func silentNeighbour(_ plan: inout Plan) {
        let others = plan.setup.kinds
        removeSenders(&plan)
        plan.setup.kinds.append(Setup.Kind(TypeName("c")!, host: "silent"))
        var server = Plan.ServerPlan()
        server.stalls = 1
        plan.servers["silent"] = server
        let start = act.pick(moments)
        let (silent, good) = (offers(of: TypeName("c")!), offers(of: act.pick(others).type))
        add(.enter(Plan.EnterPlan(silent)), at: start, to: &plan)
        add(.enter(Plan.EnterPlan(good)), at: start + .milliseconds(50), to: &plan)
        var run = Plan.RunPlan()
        run.concurrency = act.pick([2, 2, 3, 5])
        add(.run(run), at: start + act.duration(.milliseconds(200), .seconds(2)), to: &plan)
    }

    /// Adds a destination whose server takes one operation of a key at a time, with more operations of one key than a
    /// run has in flight, and newer ones without a key.
    mutating func keyLimits(_ plan: inout Plan) {
        removeSenders(&plan)
        plan.setup.kinds.append(Setup.Kind(TypeName("d")!, host: "rooms"))
        var server = Plan.ServerPlan()
        server.keyPause = act.pick([.seconds(1), .seconds(5), .seconds(60)])
        plan.servers["rooms"] = server
        let start = act.pick(moments)
        let (room, others) = (offers(of: TypeName("d")!, key: "room"), offers(of: TypeName("d")!))
        add(.enter(Plan.EnterPlan(room)), at: start, to: &plan)
        add(.enter(Plan.EnterPlan(others)), at: start + .milliseconds(50), to: &plan)
        for place in 0..<4 {
            var run = Plan.RunPlan()
            run.concurrency = act.pick([1, 2, 6])
            if place == 3 { (run.stay, run.maxTime) = (.during(.seconds(20)), .seconds(600)) }
            add(.run(run), at: start + .seconds(3 * place) + act.duration(.milliseconds(200), .seconds(2)), to: &plan)
        }
    }

    /// Leaves the sending to the runs of the feature, and few other things to a sentence's excuses.
    private func removeSenders(_ plan: inout Plan) {
        plan.actors.removeAll { actor in
            switch actor.role {
            case .run, .send, .command, .keepLock: true
            case .enter, .foreign: false
            }
        }
    }

    /// Lets runs find tokens before the servers take them, and after.
    mutating func earlyTokens(_ plan: inout Plan) {
        for index in plan.setup.kinds.indices where act.happens(0.7) { plan.setup.kinds[index].hasSecret = true }
        for _ in 0..<1 + act.below(3) {
            let known = act.pick(moments) + act.duration(.zero, .seconds(10))
            let early = act.duration(.seconds(-2), act.pick([.seconds(2), .seconds(60)]))
            plan.tokens.append(Plan.TokenPlan(asked: max(.zero, known + early), known: known))
        }
    }

    private mutating func offers(of type: TypeName, key: String? = nil) -> [Plan.PlannedOffer] {
        (0..<3 + act.below(5)).map { _ in Plan.PlannedOffer(nextLabel(), type, key: key, member: "m0") }
    }
}
