import Policy
import Spool

/// The limits on attempts to one destination, by its `concurrency` and its `rate`. Both are for the queue: all runs and
/// all `send` processes share them. A destination without either costs nothing.
///
/// A lock or file error, such as a full disk, stops no delivery: for a minute the process applies the limits to
/// its own attempts only. It reports the first error.
final class DestinationLimits {
    /// The time without a slot, or without a span of the rate, after which a process leaves the destination to others.
    static let patience = Duration.seconds(10)
    /// The time from a refusal of a slot to the next request.
    private static let retryInterval = Duration.milliseconds(50)
    /// The time for which the process applies the limits to its own attempts only, after an error.
    private static let localLimitsDuration = Duration.seconds(60)

    private let name: String
    private var pace: Pace
    /// `nil` if there is no `concurrency`.
    private let slots: SlotLocks?
    /// `nil` if there is no `rate`.
    private let rates: SharedRates?
    private let clock: RunClock?
    private let report: (SpoolError) -> Void
    /// The end of this process's time slice of the shared rate.
    private var spanEnd = Duration.zero
    /// The earliest time of the next request for a slot or a span.
    private var nextRequestTime = Duration.zero
    /// The times of the first and the last refusal since this process got a slot; `nil` if there was none.
    private var slotRefusals: (since: Duration, last: Duration)?
    /// The time for which this process has been and is to be without a span; `nil` if it has one.
    private var spanRefusals: (since: Duration, until: Duration)?
    /// The time until which the process applies the limits to its own attempts only, after an error.
    private var localLimitsUntil = Duration.zero
    private var hasReported = false

    /// Makes limits on the attempts of this process only.
    init(_ settings: DestinationSettings) {
        name = ""
        pace = Pace(interval: settings.rate?.interval)
        (slots, rates, clock) = (nil, nil, nil)
        report = { _ in }
    }

    /// Makes the shared limits of all processes at a queue.
    init(
        of destination: Destination, _ settings: DestinationSettings, in spool: SpoolDirectory, _ clock: RunClock,
        report: @escaping (SpoolError) -> Void
    ) {
        name = destination.name
        pace = Pace(interval: settings.rate?.interval)
        slots = settings.concurrency.map { SlotLocks(of: destination.digest, size: $0, in: spool) }
        rates = pace.isSpaced ? SharedRates(spool: spool, clock: clock) : nil
        self.clock = clock
        self.report = report
    }

    /// Whether the limits can delay an attempt.
    var mayDelay: Bool { hasRate || slots != nil }

    /// Whether a rate spaces the starts of attempts.
    var hasRate: Bool { pace.isSpaced }

    /// Returns the time until an attempt may begin, as far as this process knows; zero for now.
    func wait(at elapsed: Duration) -> Duration {
        max(.zero, pace.wait(at: elapsed), nextRequestTime - elapsed)
    }

    /// Acquires a slot and a span of the rate for one more attempt. Returns false if another process has either.
    /// `isOnly`: no other attempt follows soon.
    func acquire(at elapsed: Duration, inFlight: Int, isOnly: Bool = false) -> Bool {
        guard slots != nil || rates != nil, elapsed >= localLimitsUntil else { return true }
        let start = clock?.instant()
        var refusal: Duration?
        do throws(SpoolError) {
            refusal = try acquireSlot(at: elapsed)
            if refusal == nil { refusal = try acquireSpan(at: elapsed, isOnly) }
        } catch {
            localLimitsUntil = elapsed + Self.localLimitsDuration
            if !hasReported { report(error) }
            hasReported = true
        }
        guard let refusal else { return true }
        giveBack(inFlight: inFlight)
        // The time spent on asking is over: the wait begins now.
        let asking = start.flatMap { start in clock.map { $0.instant() - start } } ?? .zero
        nextRequestTime = elapsed + asking + max(refusal, .milliseconds(1))
        return false
    }

    /// Whether this process has been without a slot for `patience`, or will have been without a span for long: for a
    /// second, or, if it `mayWait`, for longer than `patience` and than an interval of the rate and a second. The
    /// process with the last span gets the next span, so runs do not pile up at a slow rate.
    func isExhausted(at elapsed: Duration, mayWait: Bool) -> Bool {
        let longest = mayWait ? max(Self.patience, pace.interval + .seconds(1)) : .seconds(1)
        return slotRefusals.map { elapsed - $0.since >= Self.patience } ?? false
            || spanRefusals.map { $0.until - $0.since > longest } ?? false
    }

    /// Records the start of an attempt.
    func begin(at elapsed: Duration) {
        pace = pace.begun(at: elapsed)
    }

    /// Gives back the slots not needed by the attempts in flight.
    func giveBack(inFlight: Int) {
        slots?.giveBack(downTo: inFlight)
    }

    // MARK: - Asking

    /// Acquires a slot. Returns the time until the next request if other processes have all slots; else `nil`.
    private func acquireSlot(at elapsed: Duration) throws(SpoolError) -> Duration? {
        guard let slots else { return nil }
        if try slots.acquire() {
            slotRefusals = nil
            return nil
        }
        // An old refusal says nothing about the time since: there was nothing to send.
        let isOld = slotRefusals.map { elapsed - $0.last > .seconds(1) } ?? true
        slotRefusals = (isOld ? elapsed : slotRefusals!.since, elapsed)
        return Self.retryInterval
    }

    /// Acquires a span of the rate, unless this process has one. Returns the time until the end of the span if another
    /// process has it; else `nil`.
    private func acquireSpan(at elapsed: Duration, _ isOnly: Bool) throws(SpoolError) -> Duration? {
        guard let rates, elapsed >= spanEnd else { return nil }
        switch try rates.acquire(name, every: pace.interval, isOnly) {
        case .own(let span):
            spanEnd = elapsed + span
            spanRefusals = nil
            return nil
        case .others(let wait):
            let isOld = spanRefusals.map { elapsed - $0.until > .seconds(1) } ?? true
            spanRefusals = (isOld ? elapsed : spanRefusals!.since, elapsed + wait)
            // The process with the span goes on first. An only attempt takes the next turn.
            return isOnly ? wait : wait + RateLedger.lateness
        }
    }
}
