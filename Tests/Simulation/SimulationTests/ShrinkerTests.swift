import Policy
import Testing

@testable import Simulation

private let type = TypeName("a")!

/// A plan with all parts that the shrinker can take away.
private func richPlan() -> Plan {
    var kind = Setup.Kind(type, host: "one")
    (kind.order, kind.batch, kind.keeps, kind.hasSecret) = (.key, 5, true, true)
    kind.delays = [.seconds(1)]
    var setup = Setup(kinds: [kind, Setup.Kind(TypeName("b")!, host: "two")])
    (setup.operations, setup.dropsOldest, setup.journal) = (10, true, .perDirectory)
    var plan = Plan(setup: setup)
    var offers = (1...9).map { Plan.PlannedOffer($0, type, key: "k", member: "m") }
    (offers[6].hasOwnID, offers[6].age, offers[6].wait) = (true, .seconds(60), .seconds(1))
    var enter = Plan.EnterPlan(offers)
    enter.pauses = [3: .seconds(1)]
    enter.isAtomic = true
    var run = Plan.RunPlan()
    (run.limit, run.ignoresBackoff, run.maxTime) = (7, true, .seconds(50))
    plan.actors = [
        Plan.Actor(number: 1, start: .seconds(1), host: 0, user: 7, role: .enter(enter)),
        Plan.Actor(number: 2, start: .seconds(2), role: .run(run)),
        Plan.Actor(number: 3, start: .seconds(3), role: .command([.init(.hold, .newest), .init(.drop, .failed)])),
        Plan.Actor(number: 4, start: .seconds(4), role: .run(run)),
    ]
    plan.faults = [.kill(actor: 2, call: 30), .kill(actor: 4, call: 1), .cutPower(at: .seconds(9))]
    plan.schedule.changePoints = [1, 5, 12, 40, 900]
    var server = Plan.ServerPlan()
    server.modes = [.init(from: .zero, mode: .down), .init(from: .seconds(9), mode: .well)]
    (server.losesAfter, server.bad) = (0.5, [1, 7, 9])
    plan.servers = ["one": server]
    return plan
}

/// The sentences that a history of the plan would break, if a breach takes a key's order, the seventh operation, the
/// death of the first run, a change point and a server that refuses.
private func broken(_ plan: Plan) -> Set<String> {
    let labels = plan.actors.flatMap(\.role.offers).map(\.label)
    let hasRun = plan.actors.contains { $0.number == 2 }
    let isBroken =
        plan.setup.kinds.contains { $0.order == .key } && labels.contains(7) && hasRun
        && plan.faults.contains(.kill(actor: 2, call: 30)) && plan.schedule.changePoints.contains(12)
        && plan[server: "one"].bad.contains(7)
    return isBroken ? ["lost", "stale"] : labels.isEmpty ? [] : ["stale"]
}

@Test func `a shrunk plan has only parts that the breach needs`() {
    let small = Shrinker.shrink(richPlan(), breaking: "lost", broken: broken)
    #expect(broken(small).contains("lost"))
    #expect(small.actors.map(\.number) == [1, 2])
    #expect(small.actors[0].role.offers.map(\.label) == [7])
    #expect(small.actors.map(\.start) == [.zero, .zero])
    #expect(small.actors[0].user == 0)
    #expect(small.actors[0].role.enterPlan.pauses.isEmpty)
    #expect(!small.actors[0].role.enterPlan.isAtomic)
    #expect(!small.actors[0].role.offers[0].hasOwnID)
    #expect(small.actors[0].role.offers[0].age == nil)
    var run = Plan.RunPlan()
    run.concurrency = 1
    #expect(small.actors[1].role.runPlan == run)
    #expect(small.faults == [.kill(actor: 2, call: 30)])
    #expect(small.schedule.changePoints == [12])
    #expect(small.servers["one"]?.bad == [7])
    #expect(small.servers["one"]?.modes == [])
    #expect(!small.endsCalmly)
    var kind = Setup.Kind(type, host: "one")
    kind.order = .key
    #expect(small.setup == Setup(kinds: [kind]))
}

@Test func `a plan without needless parts stays unchanged, and breaches of other sentences do not count`() {
    var plan = richPlan()
    plan.actors.removeLast(2)
    let count = plan.faults.count
    let kept = Shrinker.shrink(plan, breaking: "lost") { smaller in
        smaller.faults.count == count ? broken(smaller) : ["stale"]
    }
    #expect(kept.faults == plan.faults)
    #expect(Shrinker.shrink(plan, breaking: "never", broken: broken).actors.count == 2)
}

@Test func `the shrinker plays no more plans than its limit`() {
    var shrinker = Shrinker(richPlan(), breaking: "lost", mostTries: 13, broken: broken)
    shrinker.shrink()
    #expect(shrinker.tries == 13)
    #expect(broken(shrinker.plan).contains("lost"))
    // A round without changes is the last round.
    var patient = Shrinker(richPlan(), breaking: "lost", mostTries: 10_000, broken: broken)
    patient.shrink()
    #expect(patient.tries < 200)
}

@Test func `a removed actor takes its faults along`() {
    let small = Shrinker.shrink(richPlan(), breaking: "any") { $0.actors.isEmpty ? [] : ["any"] }
    #expect(small.actors.count == 1)
    #expect(small.faults.isEmpty)
}
