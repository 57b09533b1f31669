internal import Policy

/// Hours in which a server takes nothing, or no run comes: what operators are shown then is judged.
extension PlanMaker {
    /// Lets a server take nothing for a time, while runs come each few minutes and operations are handed in.
    mutating func longTrouble(_ plan: inout Plan) {
        let from = act.pick(moments)
        let end = from + act.duration(.seconds(1800), .seconds(6000))
        let mode = act.pick([
            Plan.ServerPlan.Mode.storm(500), .storm(503), .storm(408), .storm(409), .down, .limited(retryAfter: 600),
            .unauthorized,
        ])
        let host = act.pick(plan.servers.keys.sorted())
        plan.servers[host]?.modes = [.init(from: from, mode: mode), .init(from: end, mode: .well)]
        var next = from + .seconds(30)
        let pace = act.duration(.seconds(120), .seconds(420))
        while next < end + pace * 2 {
            if act.happens(0.3) { addOperation(at: next - .seconds(10), to: &plan) }
            add(.run(Plan.RunPlan()), to: &plan)
            plan.actors[plan.actors.count - 1].start = next
            next += pace
        }
    }

    /// Lets half a day pass without a run, at whose end an operation is handed in.
    mutating func noRuns(_ plan: inout Plan) {
        let last = plan.actors.map(\.start).max() ?? .zero
        for hours in [1, 7, 12] where act.happens(0.8) {
            addOperation(at: last + .seconds(3600) * hours, to: &plan)
        }
    }

    private mutating func addOperation(at start: Duration, to plan: inout Plan) {
        label += 1
        let offer = Plan.PlannedOffer(label, act.pick(plan.setup.kinds).type, key: nil, member: "m0")
        add(.enter(Plan.EnterPlan([offer])), to: &plan)
        plan.actors[plan.actors.count - 1].start = start
    }
}
