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

    /// Returns the plan of a history. The same seed gives the same plan.
    package func plan(seed: UInt64) -> Plan {
        var maker = PlanMaker(seed: seed, place: UInt64(Self.allCases.firstIndex(of: self)!))
        return maker.plan(of: self)
    }

    /// Returns the same plan on a file system that keeps no order between directories, with a power cut.
    package func weakPlan(seed: UInt64) -> Plan {
        var maker = PlanMaker(seed: seed, place: UInt64(Self.allCases.firstIndex(of: self)!))
        var plan = maker.plan(of: self)
        plan.setup.journal = .perDirectory
        maker.cutPower(&plan)
        return plan
    }
}
