import Drain

extension TimeSpent {
    /// Returns the use of the time: `2.5s in all, at most 12 attempts in flight: choosing 30ms, claiming 900ms, …`.
    func sentence(of duration: Duration, mostInFlight: Int) -> String {
        "\(InWords.short(duration)) in all, at most \(InWords.count(mostInFlight, "attempt")) in flight: "
            + Activity.allCases.map { "\($0) \(InWords.short(self[$0]))" }.joined(separator: ", ")
    }

    /// The advice for the activity that took the most time.
    var advice: String {
        switch Activity.allCases.max(by: { self[$0] < self[$1] })! {
        case .choosing: "with a larger --limit the run lists the queue less often"
        case .claiming, .settling: "a route with 'batch' sends many operations in one request"
        case .waiting: "the run waited for servers; if --concurrency is a number, auto may find a better one"
        case .syncing: "the run waited for the disk; a faster disk, or a route with 'batch', shortens that"
        }
    }
}
