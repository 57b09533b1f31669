/// The reasons to end a run: a signal, the time limit, an operator. Attempts in flight then get a grace time.
struct StopCheck {
    private let clock: RunClock
    private let tally: RunTally
    private var operators: OperatorCheck
    /// The time at which the run claims nothing more; `nil` without a limit.
    private let timeLimit: ContinuousClock.Instant?
    private let grace: Duration
    /// The time until which `send` waits for limits before its attempt; `nil` in a run, which has other work.
    var patience: ContinuousClock.Instant?
    /// The time at which attempts in flight are cut off; `nil` while the run continues.
    private(set) var graceEnd: ContinuousClock.Instant?

    init(_ parts: RunParts) {
        clock = parts.world.clock
        tally = parts.tally
        operators = OperatorCheck(parts)
        timeLimit = parts.options.maxTime.map { parts.tally.moment(after: $0) }
        grace = parts.options.grace
    }

    /// Stops claiming if a signal, the time limit, an operator or an error says so. Takes over changes from outside
    /// (`OperatorCheck`), and records the end of the run. Returns whether the run must stop.
    mutating func stopIfAsked(_ settling: inout Settling) -> Bool {
        operators.refresh(&settling)
        return tally.hasEnded || endIfTimeIsUp() || tally.endIfInterrupted()
    }

    /// Records the end of `--max-time` as the end of this run. Returns false before it.
    func endIfTimeIsUp() -> Bool {
        guard let timeLimit, clock.instant() >= timeLimit else { return false }
        tally.end(.timeUp)
        return true
    }

    // MARK: - Grace

    /// Begins the grace time if the run must stop.
    mutating func beginGraceIfAsked(inFlight: Int, _ settling: inout Settling) {
        if graceEnd == nil, stopIfAsked(&settling) {
            graceEnd = clock.instant() + grace
            if case .signal = tally.summary.end, inFlight > 0 {
                tally.tell(.stopping(inFlight: inFlight, grace: grace))
            }
        }
        // The lock is lost: another process settles the operations in flight.
        if tally.hasLostLock { endGrace() }
    }

    /// Ends the grace time now.
    mutating func endGrace() { graceEnd = clock.instant() }

    /// Whether to cut off the attempts in flight now: the grace time is up, or a second signal has come.
    var cutsOff: Bool { graceEnd.map { clock.instant() >= $0 || clock.signals().count > 1 } ?? false }

    // MARK: - Waiting

    private static let longestWait = Duration.seconds(60)

    /// The latest end of a wait. The run then looks for events other than the awaited ones.
    var nextLook: ContinuousClock.Instant {
        // In the grace time the run looks for a second signal ten times a second: the first has used up the wake-up.
        if let graceEnd { return min(graceEnd, clock.instant() + .milliseconds(100)) }
        let longest = clock.instant() + Self.longestWait
        return timeLimit.map { min($0, longest) } ?? longest
    }

    /// Whether to wait this long for limits while nothing is in flight.
    func waits(for delay: Duration) -> Bool { patience.map { clock.instant() + delay <= $0 } ?? true }

    /// Waits with nothing in flight, until the deadline or `nextLook`.
    func sleep(until deadline: ContinuousClock.Instant) {
        let before = tally.begin(.waiting)
        clock.sleep(min(deadline, nextLook))
        tally.begin(before)
    }
}
