internal import Policy

/// The plans of the workload `pairs`: two processes act on one operation at the same moment. The seed counts the pairs of
/// verbs, then the places of the operation, then whether none, the first or the second process dies.
extension PlanMaker {
    /// The places of the operation.
    private enum Place: CaseIterable {
        case new
        case deferred
        case failed
        case inFlight

        var target: Plan.Target {
            switch self {
            case .new, .deferred: .waiting(0)
            case .failed: .failed
            case .inFlight: .inFlight
            }
        }
    }

    /// The number of plans that differ by more than chance.
    static let pairedPlans = PairedVerb.pairs.count * Place.allCases.count * 3

    mutating func pairs(_ seed: UInt64) -> Plan {
        let number = Int(seed % UInt64(Self.pairedPlans))
        let pair = PairedVerb.pairs[number % PairedVerb.pairs.count]
        let place = Place.allCases[number / PairedVerb.pairs.count % Place.allCases.count]
        let victim = number / PairedVerb.pairs.count / Place.allCases.count
        var kind = Setup.Kind(TypeName("a")!, host: "one")
        switch chance.below(4) {
        case 0: kind.order = .key; kind.holdsBehindFailed = true
        case 1: kind.coalescing = .replace
        case 2: kind.coalescing = .merge
        default: break
        }
        var plan = Plan(setup: Setup(kinds: [kind]))
        moments = [.zero]
        schedule(&plan)
        plan.servers["one"] = server(place)
        // The operation, another one of its key, and the run that brings the operation to its place.
        let enter = Plan.EnterPlan(
            [nextLabel(), nextLabel()].map { .init($0, kind.type, key: "k0", member: "m\($0)") })
        add(.enter(enter), at: .zero, to: &plan)
        if place != .new { add(.run(Plan.RunPlan()), at: .milliseconds(500), to: &plan) }
        for verb in [pair.0, pair.1] {
            let start =
                Duration.seconds(1) + chance.duration(.zero, chance.pick([.milliseconds(1), .milliseconds(20)]))
            add(verb.role(place.target, nextLabel(), kind), at: start, to: &plan)
        }
        if victim > 0 { plan.faults.append(.kill(actor: actor + victim - 2, call: 5 + chance.below(60))) }
        add(.run(Plan.RunPlan()), at: .seconds(4), to: &plan)
        return plan
    }

    /// Returns the server that lets the operation stay in its place until both processes have begun.
    private func server(_ place: Place) -> Plan.ServerPlan {
        var server = Plan.ServerPlan()
        switch place {
        case .new: break
        case .deferred:
            server.modes = [
                .init(from: .zero, mode: .flaky(status: 503, share: 1)), .init(from: .milliseconds(900), mode: .well),
            ]
        case .failed: server.bad = [1]
        case .inFlight: server.latency = .seconds(1)
        }
        return server
    }
}
