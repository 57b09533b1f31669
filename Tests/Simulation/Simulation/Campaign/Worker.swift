internal import Foundation

/// Plays histories in this process.
struct Worker {
    let options: CampaignOptions

    /// Plays each history and writes `WorkerLine`s.
    func play() throws {
        var sentences = Tally()
        for workload in options.workloads {
            for seed in options.seeds {
                try WorkerLine.begins(seed).write()
                let plan = options.plan(workload, seed)
                let outcome = Simulation.play(plan)
                let (breaches, counts) = Contract.judgement(of: outcome.history, by: options.properties)
                sentences.add(Tally(counts))
                var told: Set<String> = []
                for breach in breaches where told.insert(breach.property).inserted {
                    try WorkerLine.found(
                        Found(
                            workload: workload.rawValue, seed: seed, property: breach.property,
                            sentence: breach.sentence, schedule: plan.schedule.style.words)
                    ).write()
                }
                var tally = Tally()
                (tally.histories, tally.steps, tally.bad) = (1, outcome.steps, breaches.isEmpty ? 0 : 1)
                tally.digest = outcome.digest &+ seed
                try WorkerLine.ends(tally).write()
            }
        }
        try WorkerLine.judges(sentences).write()
    }

    /// Shrinks the first history that breaks the property, and prints it as a story.
    func tell(_ property: Property) {
        func breaches(_ outcome: Simulation.Outcome) -> [Breach] {
            Contract.broken(by: outcome.history, of: [property])
        }
        for workload in options.workloads {
            for seed in options.seeds {
                let plan = options.plan(workload, seed)
                if breaches(Simulation.play(plan)).isEmpty { continue }
                let small = Shrinker.shrink(plan, breaking: property.rawValue, mostTries: options.tries) {
                    Set(breaches(Simulation.play($0)).map(\.property))
                }
                let outcome = Simulation.play(small)
                print("\(workload.rawValue) \(seed), \(Self.words(for: small)) of \(Self.words(for: plan)):")
                print("  the routes: \(small.setup.kinds.map(\.words).joined(separator: "; "))")
                if let breach = breaches(outcome).first {
                    print(BreachStory(outcome.history, breach).lines().joined(separator: "\n"))
                }
                if options.traces { trace(outcome) }
                return
            }
        }
    }

    private static func words(for plan: Plan) -> String {
        let offers = plan.actors.map(\.role.offers.count).reduce(0, +)
        return "\(plan.actors.count) processes, \(offers) operations and \(plan.faults.count) faults"
    }

    /// Prints every event of each history.
    func trace() {
        for workload in options.workloads {
            for seed in options.seeds {
                let outcome = Simulation.play(options.plan(workload, seed))
                print("\(workload.rawValue) \(seed): \(outcome.steps) calls")
                trace(outcome)
            }
        }
    }

    private func trace(_ outcome: Simulation.Outcome) {
        for (index, event) in outcome.history.events.enumerated() {
            print("\(index) +\(event.time) \(event.process) \(event.what)")
        }
        for file in outcome.history.left { print("left \(file.path)") }
        for breach in Contract.broken(by: outcome.history) { print("BROKEN \(breach)") }
    }
}
