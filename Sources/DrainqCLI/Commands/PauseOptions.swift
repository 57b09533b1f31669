import Drain
import Policy
import Spool

/// The options of `drainq pause` and `drainq resume`, and their work.
struct PauseOptions {
    /// The destinations to pause or resume; empty means the whole queue.
    var destinations: [String] = []
    var global = GlobalOptions()

    @OptionList<Self> static var options: [Option<Self>] {
        Option(
            .destination, .destination, each: \.destinations, "only this destination",
            "Only this destination, by its name as `drainq status` shows it.")
        GlobalOptions.optionsButJSON.map { $0.within(\.global) }
    }

    /// Pauses or resumes the queue, or the destinations that the command line names.
    func setPaused(_ isPaused: Bool, _ environment: [String: String]) throws -> ExitStatus {
        let queue = try OpenQueue(global, environment)
        if !destinations.isEmpty {
            return try queue.changeDestinations(isPaused ? .paused : .resumed, destinations, global) { state in
                state.isPaused == isPaused ? (isPaused ? "is paused already" : "is not paused") : nil
            }
        }
        let changes = try queue.spool.setPaused(isPaused, by: queue.operatorName, at: .now())
        if changes { queue.log(byOperator: [LogEvent(isPaused ? .paused : .resumed, at: .now())]) }
        if !global.verbosity.isQuiet {
            switch (isPaused, changes) {
            case (true, true): Messages.notice("the queue is paused: runs make no attempts")
            case (true, false): Messages.notice("the queue is paused already")
            case (false, true): Messages.notice("the queue is resumed: the next run attempts due operations")
            case (false, false): Messages.notice("the queue is not paused")
            }
            for (name, state) in try queue.knownDestinations().states.sorted(by: { $0.key < $1.key })
            where !isPaused && state.isPaused {
                Messages.notice(
                    "the destination '\(name)' is still paused; '\(pasted("resume", "--destination", name))' ends its pause"
                )
            }
        }
        return .ok
    }
}
