import Policy
import Spool

/// The spans of rates in `state/rates.json`.
struct SharedRates {
    let spool: SpoolDirectory
    let clock: RunClock

    /// Acquires a span, see `RateLedger.acquire`.
    func acquire(
        _ destination: String, every interval: Duration, _ isOnly: Bool
    ) throws(SpoolError) -> RateLedger.Span {
        var span = RateLedger.Span.own(.zero)
        try StateFile.rates.update(RateLedger(), in: spool) {
            span = $0.acquire(destination, every: interval, isOnly: isOnly, at: clock.now())
        }
        return span
    }
}
