package import Policy
import Spool

/// A token endpoint as a destination: the state of its origin says when it may be asked, and learns from its answers.
///
/// Any thread may ask. So each opens the queue anew, and a ledger that cannot be read or written stops no request.
package struct TokenEndpoint {
    private let destination: Destination
    private let settings: DestinationSettings
    private let queue: String
    private let now: () -> Timestamp

    /// - Parameter queue: the path of the queue directory.
    package init(
        of oauth2: OAuth2, _ settings: DestinationSettings, queue: String, now: @escaping () -> Timestamp
    ) {
        self.now = now
        destination = Destination(named: Origin(url: oauth2.tokenURL)?.description ?? oauth2.tokenURL)
        self.settings = settings
        self.queue = queue
    }

    /// Returns the endpoint's answer, or why it is not asked now.
    package func answer(_ ask: () -> AttemptReport) -> OAuth2.Answer {
        // try?: see above.
        let file = (try? SpoolDirectory(opening: queue)).map { DestinationsFile(spool: $0) }
        let (name, now) = (destination.name, now())
        // try?: see above.
        let state = (try? file?.read())?[name]
        if state?.isPaused == true { return .unavailable(reason: "is paused", for: Self.pause) }
        if let until = state?.wait(settings, at: now) {
            return .unavailable(reason: "is not asked before \(until.rfc3339)", for: until - now)
        }
        let report = ask()
        let end = self.now()
        let answer = OAuth2.answer(in: report, at: end)
        let sealed = SealedReport(report, .none)
        let verdict = Classification.verdict(on: sealed, route: Route(), now: end)
        // A refusal is about the client, whose operations it holds. It holds no other client's.
        let events = DestinationEvent.events(of: sealed, verdict, route: Route(), blamed: nil, began: now, now: end)
            .filter {
                event in
                if case .held = event { false } else { true }
            }
        // try?: see above.
        let ledger = try? file?.record(
            events.map { (name, $0) }, settings: { _ in settings }, at: self.now(), durable: false)
        guard case .unavailable(let reason, let delay) = answer else { return answer }
        return .unavailable(
            reason: reason, for: max(delay, ledger?[name].wait(settings, at: end).map { $0 - end } ?? .zero))
    }

    /// The time before a paused endpoint is looked at again.
    private static let pause = Duration.seconds(60)
}
