import Drain
import Policy

extension TimeSpent {
    /// Returns the use of the time: `of 2.5s, at most 12 in flight: choosing 30ms, claiming 900ms, …`.
    func sentence(of duration: Duration, mostInFlight: Int) -> String {
        "of \(InWords.short(duration)), at most \(mostInFlight) in flight: "
            + Activity.allCases.map { "\($0) \(InWords.short(self[$0]))" }.joined(separator: ", ")
    }

    /// The advice for the activity that took the most time.
    var advice: String {
        switch Activity.allCases.max(by: { self[$0] < self[$1] })! {
        case .choosing: "a larger --limit looks through the queue less often"
        case .claiming, .settling: "a route with 'batch' sends many operations in one request"
        case .waiting: "the servers decide; where --concurrency is a number, auto may find a better one"
        case .syncing: "the disk decides; a queue on a faster one, or a route with 'batch', syncs less"
        }
    }
}
