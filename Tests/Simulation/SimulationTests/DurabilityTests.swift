import Policy
import Testing

@testable import Simulation

/// What a command has answered stays after a power cut at that moment, whatever the file system still had to write.
struct `An answered command is durable` {
    private static let type = TypeName("a")!

    /// Plays an operation, a run that the server refuses if `isRefused`, and commands. Returns the files left.
    private func left(
        after commands: [Plan.PlannedCommand], isRefused: Bool = false, seed: UInt64,
        _ change: (inout Plan) -> Void
    ) -> [String] {
        var plan = Plan(setup: Setup(kinds: [Setup.Kind(Self.type, host: "one")]))
        plan.endsCalmly = false
        plan.schedule.style = .turns
        plan.schedule.seed = seed
        plan.actors = [
            Plan.Actor(
                number: 1, start: .zero,
                role: .enter(Plan.EnterPlan([Plan.PlannedOffer(1, Self.type, key: nil, member: "m")])))
        ]
        if isRefused {
            var server = Plan.ServerPlan()
            server.bad = [1]
            plan.servers = ["one": server]
            plan.actors.append(Plan.Actor(number: 2, start: .seconds(1), role: .run(Plan.RunPlan())))
        }
        plan.actors.append(Plan.Actor(number: 3, start: .seconds(10), role: .command(commands)))
        change(&plan)
        return Simulation.play(plan).history.left.map(\.path)
    }

    /// Returns the files left by power cuts right after a promise, for several chances of the file system.
    private func cut(
        after promise: Int, of command: Plan.PlannedCommand, isRefused: Bool = false
    ) -> [[String]] {
        (0..<24).map { seed in
            left(after: [command], isRefused: isRefused, seed: seed) {
                $0.faults = [.cutPowerAfter(promise: promise, wait: .zero)]
            }
        }
    }

    @Test func `a pause stays`() {
        #expect(cut(after: 2, of: .init(.pause, .queue)).allSatisfy { $0.contains("paused") })
    }

    @Test func `a hold stays`() {
        #expect(cut(after: 2, of: .init(.hold, .newest)).allSatisfy { $0.contains { $0.contains(",h=1") } })
    }

    @Test func `a drop stays`() {
        #expect(cut(after: 2, of: .init(.drop, .newest)).allSatisfy { !$0.contains { $0.hasPrefix("new/") } })
    }

    @Test func `a retry of a dead letter stays`() {
        // The run promises twice before: it learns the answer, and reports the failure.
        let cuts = cut(after: 4, of: .init(.retry, .failed), isRefused: true)
        #expect(cuts.allSatisfy { !$0.contains { $0.hasPrefix("failed/") } })
        #expect(cuts.allSatisfy { $0.contains { $0.hasPrefix("new/") || $0.hasPrefix("deferred/") } })
    }

    @Test func `a dead letter that is created anew is there after a death at any call`() {
        var command = Plan.PlannedCommand(.retry, .failed)
        command.asNewest = true
        for call in 1..<120 {
            let left = left(after: [command], isRefused: true, seed: 1) { $0.faults = [.kill(actor: 3, call: call)] }
            let isThere = left.contains { path in
                ["new/", "deferred/", "failed/", "claimed/", "tmp/"].contains {
                    path.hasPrefix($0) && path.contains(".json")
                }
            }
            #expect(isThere, "call \(call)")
        }
    }
}
