internal import Drain
internal import Policy

/// A kind of history: the common features of its seeds.
package enum Workload: String, Hashable, Sendable, CaseIterable {
    /// All features of the other workloads, in small.
    case mixed
    case plain
    case key
    case strict
    case newest
    case coalesce
    case merge
    case chains
    case batches
    case limits
    case foreign
    case send
    case importing = "import"
    /// Runs that stay, until the queue is empty or for a time.
    case long
    case operators
    /// Refused credentials, permanent answers, outages.
    case storms
    /// Several hosts with clocks of their own.
    case hosts
    /// Two verbs at the same moment on one operation: each pair, counted by the seed.
    case pairs

    /// Returns the plan of a history. The same seed gives the same plan. `features` takes the place of the features
    /// that the seed draws; without them the plan has no feature with an open defect, unless `isOpen`.
    package func plan(seed: UInt64, features: [Feature]? = nil, isOpen: Bool = false) -> Plan {
        var maker = PlanMaker(seed: seed, place: place)
        return maker.plan(of: self, seed, features ?? drawn(seed, isOpen))
    }

    private var place: UInt64 { UInt64(Self.allCases.firstIndex(of: self)!) }

    private func drawn(_ seed: UInt64, _ isOpen: Bool) -> [Feature] {
        self == .pairs
            ? [] : Feature.drawn(seed: seed, place: place).filter { isOpen || OpenDefects.features[$0] == nil }
    }

    /// Returns the same plan on a file system that keeps no order between directories, with a power cut.
    package func weakPlan(seed: UInt64) -> Plan {
        var maker = PlanMaker(seed: seed, place: place)
        var plan = maker.plan(of: self, seed, drawn(seed, false))
        plan.setup.journal = .perDirectory
        maker.cutPower(&plan)
        return plan
    }
}
