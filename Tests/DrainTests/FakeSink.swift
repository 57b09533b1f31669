import Delivery
import Policy

/// A sink that answers at once from a closure, and remembers its requests.
final class FakeSink: Sink {
    let concurrency: Int
    var answer: (OutgoingRequest) -> AttemptReport.Result
    private(set) var requests: [OutgoingRequest] = []
    private(set) var mostInFlight = 0
    var inFlight: Int { waiting.count }
    private(set) var isClosed = false
    private var waiting: [(ticket: Int, request: OutgoingRequest)] = []
    /// Whether the agent of the attempt died with several attempts in flight.
    var isSuspect: (OutgoingRequest) -> Bool = { _ in false }
    /// Whether the agent ended before the attempt began.
    var isUnbegun: (OutgoingRequest) -> Bool = { _ in false }
    /// Whether the stream of the attempt ended without its whole answer.
    var hasBrokenStream: (OutgoingRequest) -> Bool = { _ in false }
    /// Whether an answer comes before the end of a wait.
    var arrives: (ContinuousClock.Instant) -> Bool = { _ in true }
    /// The duration of each attempt.
    var duration = Duration.milliseconds(1)
    /// The defect of libcurl.
    var defect: String?
    /// Thrown by the next `reports`.
    var failure: SinkError?

    init(concurrency: Int, answer: @escaping (OutgoingRequest) -> AttemptReport.Result) {
        self.concurrency = concurrency
        self.answer = answer
    }

    func prepare(_ transport: Transport) {}

    func defect(of transport: Transport) -> String? {
        transport == .libcurl ? defect : nil
    }

    func submit(_ request: OutgoingRequest, ticket: Int) throws(SinkError) {
        requests.append(request)
        waiting.append((ticket, request))
        mostInFlight = max(mostInFlight, waiting.count)
    }

    func reports(
        until deadline: ContinuousClock.Instant, wakeups: [Int32]
    ) throws(SinkError) -> [(ticket: Int, report: AttemptReport)] {
        if let failure { throw failure }
        if isClosed { throw SinkError("cannot wait for reports: the sink is closed") }
        if waiting.isEmpty || !arrives(deadline) { return [] }
        let (ticket, request) = waiting.removeFirst()
        let report = AttemptReport(
            result: answer(request), duration: duration, isSuspect: isSuspect(request), isUnbegun: isUnbegun(request),
            hasBrokenStream: hasBrokenStream(request))
        return [(ticket, report)]
    }

    func close() {
        isClosed = true
        waiting = []
    }
}
