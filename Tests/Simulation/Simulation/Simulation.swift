/// Plays histories.
package enum Simulation {
    /// The outcome of a history.
    package struct Outcome: Sendable {
        package var history: History
        /// The same for the same plan, in debug and release builds.
        package var digest: UInt64
        /// The number of system calls.
        package var steps: Int
    }

    /// Plays a plan once. Leaves a parked thread for each process that was killed.
    package static func play(_ plan: Plan) -> Outcome {
        let universe = Universe(plan)
        let history = universe.play()
        return Outcome(history: history, digest: universe.scheduler.digest.value, steps: universe.scheduler.steps)
    }
}
