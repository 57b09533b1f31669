import Drain
import Policy

/// The run that is at work between two looks of `status --watch`: its progress, its rate and the time that is left.
struct WatchedWork {
    /// The look at which a run was first seen at work.
    private var first: (at: Timestamp, remaining: Int)?

    /// Returns what a run does: `a run is at work: 5 in flight, 118 left, 49/s, about 3s to go`; `nil` without a run.
    /// The rate is the one since the run was first seen. What is added meanwhile makes it smaller.
    mutating func sentence(of status: QueueStatus, at now: Timestamp) -> String? {
        let inFlight = status.health.states[.claimed] ?? 0
        guard inFlight > 0 else {
            first = nil
            return nil
        }
        let remaining = status.health.due +| inFlight
        let begin = first ?? (now, remaining)
        first = begin
        let text = "a run is at work: \(inFlight) in flight, \(remaining) left"
        let done = begin.remaining -| remaining
        let time = now - begin.at
        guard done > 0, time > .zero else { return text }
        let rate = Double(done) / time.inSeconds
        let left = InWords.rough(.seconds(Double(remaining) / rate))
        return text
            + ", \(rate < 10 ? "\((rate * 10).rounded() / 10)" : "\(Int(saturating: rate.rounded()))")/s, about \(left) to go"
    }
}
