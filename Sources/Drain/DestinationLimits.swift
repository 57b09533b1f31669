import Policy
import Spool

/// The attempts that may begin to one destination by its `concurrency` and its `rate`. Both are for the queue: all runs
/// and all `send` together keep to them. A destination without either costs nothing.
///
/// A lock that cannot be taken, or a file that cannot be written, as on a full disk, stops no delivery: for a minute the
/// process then keeps to the limits by itself, and it tells the first error.
final class DestinationLimits {
    /// The time for which a process asks for a slot before it leaves the destination to the others.
    static let patience = Duration.seconds(10)
    /// The time from a refusal for lack of a slot to the next request.
    private static let pause = Duration.milliseconds(50)
    /// The time for which the process keeps to the limits by itself after an error.
    private static let respite = Duration.seconds(60)

    private let name: String
    private var pace: Pace
    /// `nil` where there is no `concurrency`.
    private let slots: SlotLocks?
    /// `nil` where there is no `rate`.
    private let rates: SharedRates?
    private let clock: RunClock?
    private let report: (SpoolError) -> Void
    /// The end of the span in which this process alone begins attempts.
    private var ownUntil = Duration.zero
    /// The earliest time of the next request for a slot or a span.
    private var askAgain = Duration.zero
    /// The time of the first refusal of a slot since the last slot, and of the last one.
    private var slotless: (since: Duration, last: Duration)?
    /// The end of the time after an error.
    private var aloneUntil = Duration.zero
    private var hasTold = false

    /// The limits of one process by itself.
    init(_ settings: DestinationSettings) {
        name = ""
        pace = Pace(interval: settings.rate?.interval)
        (slots, rates, clock) = (nil, nil, nil)
        report = { _ in }
    }

    /// The limits of all processes at a queue.
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

    /// Whether they can delay an attempt.
    var mayDelay: Bool { hasRate || slots != nil }

    /// Whether they space the beginnings of attempts.
    var hasRate: Bool { pace.isSpaced }

    /// The time until an attempt may begin, as far as this process knows; zero for now.
    func wait(at elapsed: Duration) -> Duration {
        max(.zero, pace.wait(at: elapsed), askAgain - elapsed)
    }

    /// Takes the right to begin one attempt besides those in flight; false where others have all of it. `isOnly` says that no
    /// other attempt follows soon.
    func take(at elapsed: Duration, inFlight: Int, isOnly: Bool = false) -> Bool {
        guard slots != nil || rates != nil, elapsed >= aloneUntil else { return true }
        let start = clock?.instant()
        var refusal: Duration?
        do throws(SpoolError) {
            refusal = try refusedSlot(at: elapsed)
            if refusal == nil { refusal = try refusedSpan(at: elapsed, isOnly) }
        } catch {
            aloneUntil = elapsed + Self.respite
            if !hasTold { report(error) }
            hasTold = true
        }
        guard let refusal else { return true }
        giveBack(inFlight: inFlight)
        // What asking took is over: the wait begins now.
        let asking = start.flatMap { start in clock.map { $0.instant() - start } } ?? .zero
        askAgain = elapsed + asking + max(refusal, .milliseconds(1))
        return false
    }

    /// Whether this process has had no slot for so long that it leaves the destination to the others.
    func isExhausted(at elapsed: Duration) -> Bool {
        slotless.map { elapsed - $0.since >= Self.patience } ?? false
    }

    /// Notes that an attempt begins.
    func begin(at elapsed: Duration) {
        pace.begin(at: elapsed)
    }

    /// Gives back what is not needed for the attempts in flight.
    func giveBack(inFlight: Int) {
        slots?.giveBack(downTo: inFlight)
    }

    // MARK: - Asking

    /// Takes a slot. Where others have all of them, returns the time until the next request.
    private func refusedSlot(at elapsed: Duration) throws(SpoolError) -> Duration? {
        guard let slots else { return nil }
        if try slots.take() {
            slotless = nil
            return nil
        }
        // A refusal of long ago says nothing of the time since: nothing was to be sent.
        let isOld = slotless.map { elapsed - $0.last > .seconds(1) } ?? true
        slotless = (isOld ? elapsed : slotless!.since, elapsed)
        return Self.pause
    }

    /// Takes a span of the rate, unless this process has one. Where another one has it, returns the time until its end.
    private func refusedSpan(at elapsed: Duration, _ isOnly: Bool) throws(SpoolError) -> Duration? {
        guard let rates, elapsed >= ownUntil else { return nil }
        switch try rates.take(name, every: pace.interval, isOnly) {
        case .own(let span):
            ownUntil = elapsed + span
            return nil
        case .others(let wait): return wait
        }
    }
}

/// `state/rates.json`.
private struct SharedRates {
    let spool: SpoolDirectory
    let clock: RunClock

    /// See `RateLedger.take`.
    func take(
        _ destination: String, every interval: Duration, _ isOnly: Bool
    ) throws(SpoolError) -> RateLedger.Span {
        var span = RateLedger.Span.own(.zero)
        try StateFile.rates.update(RateLedger(), in: spool) {
            span = $0.take(destination, every: interval, isOnly: isOnly, at: clock.now())
        }
        return span
    }
}
