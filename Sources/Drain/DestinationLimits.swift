import Policy
import Spool

/// The attempts that may begin to one destination by its `concurrency` and its `rate`. Both are for the queue: all runs
/// and all `send` together keep to them.
///
/// What has neither costs nothing. A lock that cannot be taken, or a file that cannot be written, as on a full disk, stops
/// no delivery: the process then keeps to the limit by itself, and tells the error.
final class DestinationLimits {
    /// So long a process asks in vain for a slot before it leaves the destination to the others.
    static let patience = Duration.seconds(60)
    /// How long it waits before it asks again.
    private static let pause = Duration.milliseconds(50)

    private let name: String
    private var pace: Pace
    /// `nil` where there is no `concurrency`, or no slot could be had for an error.
    private var slots: SlotLocks?
    /// `nil` where there is no `rate`, or after an error.
    private var rates: SharedRates?
    private let report: (SpoolError) -> Void
    /// Until when this process alone begins attempts there.
    private var takenUntil = Duration.zero
    /// Before this nothing is asked for again.
    private var askAgain = Duration.zero
    /// Since when no slot was to be had.
    private var slotlessSince: Duration?

    /// The limits of one process by itself.
    init(_ settings: DestinationSettings) {
        name = ""
        pace = Pace(interval: settings.rate?.interval)
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
        if pace.interval > .zero { rates = SharedRates(spool: spool, clock: clock) }
        self.report = report
    }

    /// Whether anything may have to be waited for.
    var mayDelay: Bool { pace.interval > .zero || slots != nil }

    /// How long until an attempt may begin, as far as this process knows; zero for now.
    func wait(at elapsed: Duration) -> Duration {
        max(pace.wait(at: elapsed), askAgain - elapsed)
    }

    /// Takes the right to begin one attempt; false where others have all of it. Then `wait` is not zero. `isOnly` says that no
    /// other attempt follows soon.
    func take(at elapsed: Duration, isOnly: Bool = false) -> Bool {
        guard takeSlot(at: elapsed) else { return false }
        let wait = waitForRate(at: elapsed, isOnly)
        if wait > .zero { askAgain = elapsed + wait }
        return wait == .zero
    }

    /// Whether this process has had no slot for so long that it had better leave the destination to others.
    func isExhausted(at elapsed: Duration) -> Bool {
        slotlessSince.map { elapsed - $0 >= Self.patience } ?? false
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

    private func takeSlot(at elapsed: Duration) -> Bool {
        guard let slots else { return true }
        do throws(SpoolError) {
            if try slots.take() {
                slotlessSince = nil
                return true
            }
            slotlessSince = slotlessSince ?? elapsed
            askAgain = elapsed + Self.pause
            return false
        } catch {
            self.slots = nil
            report(error)
            return true
        }
    }

    private func waitForRate(at elapsed: Duration, _ isOnly: Bool) -> Duration {
        guard let rates, elapsed >= takenUntil else { return .zero }
        do throws(SpoolError) {
            switch try rates.take(name, every: pace.interval, isOnly) {
            case .own(let span): takenUntil = elapsed + span
            case .others(let wait): return max(wait, .milliseconds(1))
            }
        } catch {
            self.rates = nil
            report(error)
        }
        return .zero
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
