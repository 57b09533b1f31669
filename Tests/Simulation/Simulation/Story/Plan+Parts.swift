/// The parts of a plan for the shrinker. A missing part of an actor reads as the default and cannot be set.
extension Plan {
    subscript(server host: String) -> ServerPlan {
        get { servers[host] ?? ServerPlan() }
        set { servers[host] = newValue }
    }
}

extension Plan.Fault {
    /// The actor of the fault; `nil` if the fault concerns the whole machine.
    var actor: Int? {
        switch self {
        case .kill(let actor, _), .stop(let actor, _, _), .stall(let actor, _, _), .interrupt(let actor, _),
            .error(let actor, _, _), .errors(let actor, _, _, _, _), .lateError(let actor, _, _, _):
            actor
        case .cutPower, .cutPowerAfter, .damage, .fillDisk, .refuseFile, .spoil, .standStill: nil
        }
    }
}

extension Plan.Role {
    var runPlan: Plan.RunPlan {
        get { if case .run(let plan) = self { plan } else { Plan.RunPlan() } }
        set { if case .run = self { self = .run(newValue) } }
    }

    var enterPlan: Plan.EnterPlan {
        get { if case .enter(let plan) = self { plan } else { Plan.EnterPlan([]) } }
        set { if case .enter = self { self = .enter(newValue) } }
    }

    var sendPlan: Plan.SendPlan {
        get { if case .send(_, let plan) = self { plan } else { Plan.SendPlan() } }
        set { if case .send(let offers, _) = self { self = .send(offers, newValue) } }
    }

    var offers: [Plan.PlannedOffer] {
        get {
            switch self {
            case .enter(let plan): plan.offers
            case .foreign(let offers), .send(let offers, _): offers
            case .run, .command, .keepLock: []
            }
        }
        set {
            switch self {
            case .enter(var plan):
                plan.offers = newValue
                self = .enter(plan)
            case .foreign: self = .foreign(newValue)
            case .send(_, let plan): self = .send(newValue, plan)
            case .run, .command, .keepLock: break
            }
        }
    }

    var commands: [Plan.PlannedCommand] {
        get { if case .command(let commands) = self { commands } else { [] } }
        set { if case .command = self { self = .command(newValue) } }
    }
}
