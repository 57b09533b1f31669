internal import Policy

/// The verbs that change operations. The workload `pairs` plays each pair of them.
enum PairedVerb: CaseIterable {
    case retry
    case retryAsNewest
    case drop
    case dropFollowers
    case hold
    case release
    case exportAndDrop
    case importing
    case replacing
    case atomic
    case add
    case send
    case run
    case repair
    case pause
    case resume

    /// Each pair once, a verb with itself too.
    static let pairs = allCases.indices.flatMap { first in
        allCases[first...].map { (allCases[first], $0) }
    }

    /// Returns the process that does this to the target. The label is of an operation that the process hands in.
    func role(_ target: Plan.Target, _ label: Label, _ kind: Setup.Kind) -> Plan.Role {
        func command(
            _ verb: Command.Verb, _ target: Plan.Target, _ change: (inout Plan.PlannedCommand) -> Void = { _ in }
        )
            -> Plan.Role
        {
            var command = Plan.PlannedCommand(verb, target)
            change(&command)
            return .command([command])
        }
        func enter(_ way: Plan.EnterWay, isAtomic: Bool = false, idOf target: Plan.Target? = nil) -> Plan.Role {
            var offer = Plan.PlannedOffer(label, kind.type, key: "k0", member: "m0")
            offer.idOf = target
            var enter = Plan.EnterPlan([offer])
            (enter.way, enter.isAtomic) = (way, isAtomic)
            return .enter(enter)
        }
        switch self {
        case .retry: return command(.retry, target)
        case .retryAsNewest: return command(.retry, target) { $0.asNewest = true }
        case .drop: return command(.drop, target)
        case .dropFollowers: return command(.drop, target) { $0.takesFollowers = true }
        case .hold: return command(.hold, target)
        case .release: return command(.release, target)
        case .exportAndDrop: return command(.exportAndDrop, target)
        case .importing: return enter(.importing(replaces: false), idOf: target)
        case .replacing: return enter(.importing(replaces: true), idOf: target)
        case .atomic: return enter(.add, isAtomic: true)
        case .add: return enter(.add)
        case .send: return .send([Plan.PlannedOffer(label, kind.type, key: "k0", member: "m0")], Plan.SendPlan())
        case .run:
            var run = Plan.RunPlan()
            run.ignoresBackoff = true
            return .run(run)
        case .repair: return command(.repair, .queue)
        case .pause: return command(.pause, .queue)
        case .resume: return command(.resume, .queue)
        }
    }
}
