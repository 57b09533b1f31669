import Testing

@testable import Simulation

@Test func `a history has the features of its seed, and no open one unless asked`() {
    let open = Set(OpenDefects.features.keys)
    var met: Set<Feature> = []
    for seed in 0..<200 as Range<UInt64> {
        let drawn = Feature.drawn(seed: seed, place: 3)
        met.formUnion(drawn)
        #expect(drawn.count < 10)
        // A plan without an open feature is the same with `--open`.
        if open.isDisjoint(with: drawn) {
            let (closed, all) = (Workload.strict.plan(seed: seed), Workload.strict.plan(seed: seed, isOpen: true))
            #expect(closed.faults == all.faults)
            #expect(closed.actors.map(\.start) == all.actors.map(\.start))
        }
    }
    #expect(met == Set(Feature.allCases))
}

/// What a feature may change in a plan.
private struct Signature: Equatable {
    let faults: [Plan.Fault]
    let starts: [Duration]
    let servers: [String: Plan.ServerPlan]
    let setup: Setup
    let flags: [Bool]
    let times: [Duration]

    init(_ plan: Plan) {
        faults = plan.faults
        starts = plan.actors.map(\.start)
        servers = plan.servers
        setup = plan.setup
        flags = [plan.isShared, plan.movesByLink, plan.renamesHost, plan.endsReleased]
        times =
            plan.renewals + plan.tokens.flatMap { [$0.asked, $0.known] } + plan.absences.map(\.from)
    }
}

@Test(arguments: Feature.allCases)
func `a feature changes a plan, the same for the same seed`(feature: Feature) {
    func signature(_ features: [Feature]) -> [Signature] {
        [4, 5, 6].map { Signature(Workload.mixed.plan(seed: $0, features: features)) }
    }
    #expect(signature([feature]) != signature([]))
    #expect(signature([feature]) == signature([feature]))
}

@Test func `the list of features names each, and the sentence that an open one breaks`() {
    #expect(Feature.allCases.allSatisfy { feature in OpenDefects.lines.contains { $0.hasPrefix(feature.rawValue) } })
    for (feature, broken) in OpenDefects.features {
        #expect(OpenDefects.lines.contains { $0.hasPrefix("\(feature.rawValue): open, breaks \(broken[0].rawValue)") })
    }
    for property in OpenDefects.sentences.keys {
        #expect(OpenDefects.lines.contains { $0.hasPrefix("sentence '\(property.rawValue)': open") })
    }
}
