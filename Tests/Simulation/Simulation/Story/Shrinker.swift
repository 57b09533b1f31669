import Drain

/// Takes parts away from a plan while the plan's history still breaks the same sentence.
///
/// Lists lose all of their elements, then halves, then single elements (delta debugging, Zeller 2002); options become
/// the defaults. Each try plays a plan, so the number of tries is bounded.
package struct Shrinker {
    /// The smallest plan so far.
    package private(set) var plan: Plan
    package private(set) var tries = 0
    private let property: String
    private let mostTries: Int
    private let broken: (Plan) -> Set<String>

    /// Returns a smaller plan that breaks `property`. `broken` plays a plan and returns the broken properties. `plan`
    /// itself is known to break `property`, and is returned if no part can go.
    package static func shrink(
        _ plan: Plan, breaking property: String, mostTries: Int = 500, broken: @escaping (Plan) -> Set<String>
    ) -> Plan {
        var shrinker = Shrinker(plan, breaking: property, mostTries: mostTries, broken: broken)
        shrinker.shrink()
        return shrinker.plan
    }

    package init(
        _ plan: Plan, breaking property: String, mostTries: Int, broken: @escaping (Plan) -> Set<String>
    ) {
        self.plan = plan
        self.property = property
        self.mostTries = mostTries
        self.broken = broken
    }

    /// Takes parts away until a whole round takes nothing away or the tries are used up.
    package mutating func shrink() {
        var hasChanged = true
        while hasChanged, tries < mostTries {
            hasChanged = false
            // The parts that make a history long go first, so that all later tries are quicker.
            hasChanged = thinActors() || hasChanged
            hasChanged = thin(\.faults) || hasChanged
            for index in plan.actors.indices {
                hasChanged = thin(\.actors[index].role.offers) || hasChanged
                hasChanged = thin(\.actors[index].role.commands) || hasChanged
            }
            hasChanged = simplifyServers() || hasChanged
            hasChanged = simplifySchedule() || hasChanged
            hasChanged = simplifySetup() || hasChanged
            for index in plan.actors.indices { hasChanged = simplifyActor(index) || hasChanged }
        }
    }

    // MARK: - Tries

    /// Takes over a smaller plan if the plan still breaks the sentence. A plan whose operations have lost their route
    /// breaks sentences for another reason.
    private mutating func accept(_ smaller: Plan) -> Bool {
        guard tries < mostTries, smaller.hasRoutes, smaller.setup.isValid else { return false }
        tries += 1
        guard broken(smaller).contains(property) else { return false }
        plan = smaller
        return true
    }

    private mutating func set<Value: Equatable>(_ path: WritableKeyPath<Plan, Value>, to value: Value) -> Bool {
        guard plan[keyPath: path] != value else { return false }
        var smaller = plan
        smaller[keyPath: path] = value
        return accept(smaller)
    }

    private mutating func set<Part, Value: Equatable>(
        _ part: WritableKeyPath<Plan, Part>, _ path: WritableKeyPath<Part, Value>, to value: Value
    ) -> Bool {
        set(part.appending(path: path), to: value)
    }

    private mutating func thin<Element>(_ path: WritableKeyPath<Plan, [Element]>, leaving least: Int = 0) -> Bool {
        thin(path, leaving: least) { smaller, range in smaller[keyPath: path].removeSubrange(range) }
    }

    /// Removes parts of a list: all of the list, halves, quarters, and so on. `least` elements stay.
    private mutating func thin<Element>(
        _ path: WritableKeyPath<Plan, [Element]>, leaving least: Int, _ remove: (inout Plan, Range<Int>) -> Void
    ) -> Bool {
        var hasChanged = false
        var size = plan[keyPath: path].count
        while size > 0 {
            var start = 0
            while start < plan[keyPath: path].count {
                let count = plan[keyPath: path].count
                let range = start..<min(start + size, count)
                var smaller = plan
                remove(&smaller, range)
                if count - range.count >= least, accept(smaller) {
                    hasChanged = true
                } else {
                    start += size
                }
            }
            size = size == 1 ? 0 : (size + 1) / 2
        }
        return hasChanged
    }

    // MARK: - Parts

    private mutating func thinActors() -> Bool {
        thin(\.actors, leaving: 0) { smaller, range in
            smaller.actors.removeSubrange(range)
            let left = Set(smaller.actors.map(\.number))
            smaller.faults.removeAll { fault in fault.actor.map { !left.contains($0) } ?? false }
        }
    }

    private mutating func simplifyServers() -> Bool {
        var hasChanged = false
        for host in plan.servers.keys.sorted() {
            hasChanged = set(\.[server: host], to: Plan.ServerPlan()) || hasChanged
            hasChanged = thin(\.[server: host].modes) || hasChanged
            for label in plan[server: host].bad.sorted() {
                hasChanged = set(\.[server: host].bad, to: plan[server: host].bad.subtracting([label])) || hasChanged
            }
            hasChanged = set(\.[server: host].culprit, to: nil) || hasChanged
            for share: WritableKeyPath<Plan.ServerPlan, Double> in [
                \.losesAfter, \.losesBefore, \.agentDies, \.agentHangs, \.stalls, \.trickles,
            ] {
                hasChanged = set(\.[server: host], share, to: 0) || hasChanged
            }
            hasChanged = set(\.[server: host].latency, to: Plan.ServerPlan().latency) || hasChanged
        }
        return hasChanged
    }

    private mutating func simplifySchedule() -> Bool {
        var hasChanged = thin(\.schedule.changePoints)
        hasChanged = set(\.schedule.style, to: .turns) || hasChanged
        hasChanged = set(\.schedule.pace, to: SchedulePlan().pace) || hasChanged
        hasChanged = set(\.schedule.syncPace, to: SchedulePlan().syncPace) || hasChanged
        hasChanged = set(\.endsCalmly, to: false) || hasChanged
        for isSet: WritableKeyPath<Plan, Bool> in [\.isOpenToAll, \.movesByLink, \.isShared, \.renamesHost] {
            hasChanged = set(isSet, to: false) || hasChanged
        }
        hasChanged = set(\.endsReleased, to: true) || hasChanged
        hasChanged = thin(\.renewals) || hasChanged
        hasChanged = thin(\.tokens) || hasChanged
        hasChanged = thin(\.absences) || hasChanged
        for index in plan.hosts.indices {
            hasChanged = thin(\.hosts[index].steps) || hasChanged
            hasChanged = set(\.hosts[index].ahead, to: .zero) || hasChanged
        }
        return hasChanged
    }

    private mutating func simplifySetup() -> Bool {
        var hasChanged = thin(\.setup.kinds, leaving: 1)
        let standard = Setup(kinds: plan.setup.kinds)
        hasChanged = set(\.setup, to: standard) || hasChanged
        hasChanged = set(\.setup.journal, to: standard.journal) || hasChanged
        hasChanged = set(\.setup.operations, to: standard.operations) || hasChanged
        hasChanged = set(\.setup.bytes, to: standard.bytes) || hasChanged
        hasChanged = set(\.setup.dropsOldest, to: standard.dropsOldest) || hasChanged
        hasChanged = set(\.setup.keepsDelivered, to: standard.keepsDelivered) || hasChanged
        hasChanged = set(\.setup.keepsFailed, to: standard.keepsFailed) || hasChanged
        hasChanged = set(\.setup.concurrency, to: standard.concurrency) || hasChanged
        hasChanged = set(\.setup.holdProbe, to: standard.holdProbe) || hasChanged
        for index in plan.setup.kinds.indices { hasChanged = simplifyKind(index) || hasChanged }
        return hasChanged
    }

    private mutating func simplifyKind(_ index: Int) -> Bool {
        let kind = plan.setup.kinds[index]
        let standard = Setup.Kind(kind.type, host: kind.host)
        var hasChanged = set(\.setup.kinds[index], to: standard)
        hasChanged = set(\.setup.kinds[index].order, to: standard.order) || hasChanged
        hasChanged = set(\.setup.kinds[index].coalescing, to: standard.coalescing) || hasChanged
        for isSet: WritableKeyPath<Setup.Kind, Bool> in [
            \.holdsBehindFailed, \.hasResults, \.keeps, \.needsKept, \.hasSecret,
        ] {
            hasChanged = set(\.setup.kinds[index], isSet, to: false) || hasChanged
        }
        hasChanged = set(\.setup.kinds[index].batch, to: nil) || hasChanged
        hasChanged = set(\.setup.kinds[index].delays, to: standard.delays) || hasChanged
        hasChanged = set(\.setup.kinds[index].jitter, to: standard.jitter) || hasChanged
        hasChanged = set(\.setup.kinds[index].expiresAfter, to: nil) || hasChanged
        return hasChanged
    }

    private mutating func simplifyActor(_ index: Int) -> Bool {
        var hasChanged = set(\.actors[index].host, to: 0)
        hasChanged = set(\.actors[index].user, to: 0) || hasChanged
        hasChanged = set(\.actors[index].start, to: .zero) || hasChanged
        hasChanged = simplifyRun(index) || hasChanged
        hasChanged = set(\.actors[index].role.enterPlan.pauses, to: [:]) || hasChanged
        hasChanged = set(\.actors[index].role.enterPlan.isAtomic, to: false) || hasChanged
        hasChanged = set(\.actors[index].role.enterPlan.way, to: .add) || hasChanged
        hasChanged = set(\.actors[index].role.sendPlan, to: Plan.SendPlan()) || hasChanged
        hasChanged = set(\.actors[index].role.sendPlan.timeout, to: nil) || hasChanged
        hasChanged = set(\.actors[index].role.sendPlan.retryWithin, to: nil) || hasChanged
        for command in plan.actors[index].role.commands.indices {
            hasChanged = set(\.actors[index].role.commands[command].wait, to: .zero) || hasChanged
            hasChanged = set(\.actors[index].role.commands[command].moment, to: nil) || hasChanged
            hasChanged = set(\.actors[index].role.commands[command].states, to: []) || hasChanged
            hasChanged = set(\.actors[index].role.commands[command].limit, to: nil) || hasChanged
            hasChanged = set(\.actors[index].role.commands[command].takesFollowers, to: false) || hasChanged
            hasChanged = set(\.actors[index].role.commands[command].spacing, to: nil) || hasChanged
            hasChanged = set(\.actors[index].role.commands[command].asNewest, to: false) || hasChanged
        }
        for offer in plan.actors[index].role.offers.indices { hasChanged = simplifyOffer(index, offer) || hasChanged }
        return hasChanged
    }

    private mutating func simplifyRun(_ index: Int) -> Bool {
        guard case .run = plan.actors[index].role else { return false }
        var standard = Plan.RunPlan()
        standard.concurrency = 1
        var hasChanged = set(\.actors[index].role.runPlan, to: standard)
        hasChanged = set(\.actors[index].role.runPlan.target, to: nil) || hasChanged
        hasChanged = set(\.actors[index].role.runPlan.types, to: []) || hasChanged
        hasChanged = set(\.actors[index].role.runPlan.maxTime, to: nil) || hasChanged
        hasChanged = set(\.actors[index].role.runPlan.stay, to: .no) || hasChanged
        hasChanged = set(\.actors[index].role.runPlan.ignoresBackoff, to: false) || hasChanged
        hasChanged = set(\.actors[index].role.runPlan.limit, to: standard.limit) || hasChanged
        hasChanged = set(\.actors[index].role.runPlan.concurrency, to: standard.concurrency) || hasChanged
        return hasChanged
    }

    private mutating func simplifyOffer(_ index: Int, _ offer: Int) -> Bool {
        var hasChanged = set(\.actors[index].role.offers[offer].idOf, to: nil)
        hasChanged = set(\.actors[index].role.offers[offer].sharesIDWith, to: nil) || hasChanged
        hasChanged = set(\.actors[index].role.offers[offer].hasOwnID, to: false) || hasChanged
        hasChanged = set(\.actors[index].role.offers[offer].isDurable, to: true) || hasChanged
        for time: WritableKeyPath<Plan.PlannedOffer, Duration?> in [\.age, \.notBefore, \.expires] {
            hasChanged = set(\.actors[index].role.offers[offer], time, to: nil) || hasChanged
        }
        hasChanged = set(\.actors[index].role.offers[offer].wait, to: .zero) || hasChanged
        hasChanged = set(\.actors[index].role.offers[offer].edit, to: .zero) || hasChanged
        return hasChanged
    }
}

extension Plan {
    /// Whether each offer has a route.
    fileprivate var hasRoutes: Bool {
        let types = Set(setup.kinds.map(\.type))
        return actors.allSatisfy { $0.role.offers.allSatisfy { types.contains($0.type) } }
    }
}
