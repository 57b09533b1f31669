/// Says when a run has to stop, and until when its attempts in flight may go on: a signal, the time limit, an operator.
final class StopCheck {
    private let clock: RunClock
    private let tally: RunTally
    private let operators: OperatorCheck
    /// The time at which the run claims nothing more; `nil` if it has no limit.
    private let timeLimit: ContinuousClock.Instant?
    private let grace: Duration
    /// The time at which attempts in flight are cut off; `nil` while the run continues.
    private(set) var graceEnd: ContinuousClock.Instant?

    init(_ options: RunOptions, _ clock: RunClock, _ tally: RunTally, _ operators: OperatorCheck) {
        self.clock = clock
        self.tally = tally
        self.operators = operators
        timeLimit = options.maxTime.map { tally.moment(after: $0) }
        grace = options.grace
    }

    /// Whether the run may claim nothing more: because of a signal, the time, or a queue that may lose another outcome.
    func mustStop() -> Bool {
        operators.look()
        return tally.hasEnded || isTimeUp() || tally.isInterrupted()
    }

    /// Records the end of `--max-time` as the end of this run. Returns false before it.
    func isTimeUp() -> Bool {
        guard let timeLimit, clock.instant() >= timeLimit else { return false }
        tally.summary.end = .timeUp
        return true
    }

    // MARK: - Grace

    /// Begins the grace time if the run has to stop.
    func look(inFlight: Int) {
        if graceEnd == nil, mustStop() {
            graceEnd = clock.instant() + grace
            if case .signal = tally.summary.end, inFlight > 0 {
                tally.tell(.stopping(inFlight: inFlight, grace: grace))
            }
        }
        // Another process settles the operations in flight.
        if tally.hasLostLock { endGrace() }
    }

    /// Cuts off the attempts in flight.
    func endGrace() { graceEnd = clock.instant() }

    /// Whether attempts in flight are cut off now: the grace time is up, or a second signal has come.
    var cutsOff: Bool { graceEnd.map { clock.instant() >= $0 || clock.signals().count > 1 } ?? false }

    // MARK: - Waiting

    private static let longestWait = Duration.seconds(60)

    /// The latest end of a wait. The run then checks for events other than the one it waits for.
    var nextLook: ContinuousClock.Instant {
        // In the grace time a second signal is looked for ten times a second: the first has used up the wake-up.
        if let graceEnd { return min(graceEnd, clock.instant() + .milliseconds(100)) }
        let longest = clock.instant() + Self.longestWait
        return timeLimit.map { min($0, longest) } ?? longest
    }

    /// Waits, with nothing in flight, until then or until something else has to be noticed.
    func sleep(until deadline: ContinuousClock.Instant) {
        let before = tally.begin(.waiting)
        clock.sleep(min(deadline, nextLook))
        tally.begin(before)
    }
}
