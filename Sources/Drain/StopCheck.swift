/// Says when a run has to stop, and until when its attempts in flight may go on: a signal, the time limit, an operator.
final class StopCheck {
    private let clock: RunClock
    private let tally: RunTally
    private let operators: OperatorCheck
    /// When the time of the run is up; `nil` where it has no limit.
    private let timeLimit: ContinuousClock.Instant?
    private let grace: Duration
    /// When what is in flight is cut off; `nil` as long as the run goes on.
    private(set) var graceEnd: ContinuousClock.Instant?

    init(_ options: RunOptions, _ clock: RunClock, _ tally: RunTally, _ operators: OperatorCheck) {
        self.clock = clock
        self.tally = tally
        self.operators = operators
        timeLimit = options.maxTime.map { tally.moment(after: $0) }
        grace = options.grace
    }

    /// Whether no more is to be claimed: a signal, the time, or a queue that cannot be trusted with another outcome.
    func mustStop() -> Bool {
        operators.look()
        return tally.hasEnded || isTimeUp() || tally.isInterrupted()
    }

    /// Notes the end of `--max-time` as the end of this run; false before it.
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
        // What is in flight is somebody else's to settle.
        if tally.hasLostLock { endGrace() }
    }

    /// Has what is in flight cut off.
    func endGrace() { graceEnd = clock.instant() }

    /// Whether what is in flight is cut off now: the grace time is up, or a second signal has come.
    var cutsOff: Bool { graceEnd.map { clock.instant() >= $0 || clock.signals().count > 1 } ?? false }

    // MARK: - Waiting

    private static let longestWait = Duration.seconds(60)

    /// When a wait ends at the latest: something else than its reason has to be noticed then.
    var nextLook: ContinuousClock.Instant {
        // In the grace time a second signal is looked for ten times a second: the first has used up the wake-up.
        if let graceEnd { return min(graceEnd, clock.instant() + .milliseconds(100)) }
        return timeLimit ?? clock.instant() + Self.longestWait
    }

    /// Waits, with nothing in flight, until then or until something else has to be noticed.
    func sleep(until deadline: ContinuousClock.Instant) {
        let before = tally.begin(.waiting)
        clock.sleep(min(deadline, nextLook))
        tally.begin(before)
    }
}
