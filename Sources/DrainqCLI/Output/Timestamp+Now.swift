import CSystem
import Drain
import Policy

extension Timestamp {
    /// Returns the time of the wall clock. The rooms below get it from here and do not read the clock.
    static func now() -> Timestamp {
        // A Double holds microseconds exactly until the year 2255.
        Timestamp(microseconds: Int64(saturating: (Date().timeIntervalSince1970 * 1_000_000).rounded(.down)))
    }
}

extension RunClock {
    /// The clocks and the signals of this process.
    static var ofProcess: RunClock { .ofProcess(now: { .now() }) }
}
