import Delivery
import Policy
import Spool

/// The sink of a run, opened for the first request. Makes requests, submits them to agent processes (`AgentSink`), and
/// returns reports.
final class RequestSender {
    private let spool: SpoolDirectory
    private let configuration: Configuration
    private let world: World
    /// Upper bound on the attempts in flight. Falls to the number for which this machine had room, once an attempt met
    /// a shortage.
    private(set) var concurrency: Int
    private var inFlight = 0
    /// Whether drainq chooses the concurrency. Then `mostBytes` limits the large bodies in flight.
    private let adapts: Bool
    /// The length in bytes of each large body in flight and in memory, by ticket; below, their sum.
    private var largeBodies: [Int: Int] = [:]
    private var largeBytes = 0
    /// The length in bytes from which a body counts as large.
    private static let large = 64 << 10
    /// The sum of large bodies at which no attempt beyond `AdaptiveConcurrency.initial` begins, in bytes.
    private static let mostBytes = 32 << 20
    /// Changes each request before it is sent.
    private let adjust: (inout OutgoingRequest) -> Void
    /// The rate at which attempts begin, over all destinations.
    var pace: Pace
    private var sink: (any Sink)?
    /// The number of requests submitted, and the ticket of the last request.
    private(set) var submitted = 0
    /// The last report.
    private(set) var last: AttemptReport?

    init(
        _ spool: SpoolDirectory, _ configuration: Configuration, _ world: World, concurrency: Int,
        adapts: Bool = false, rate: Rate? = nil, adjust: @escaping (inout OutgoingRequest) -> Void = { _ in }
    ) {
        self.spool = spool
        self.configuration = configuration
        self.world = world
        self.concurrency = concurrency
        self.adapts = adapts
        self.adjust = adjust
        pace = Pace(interval: rate?.interval)
    }

    deinit {
        close()
    }

    /// Starts an agent while the queue is still listed and claims are synced.
    func prepare(for route: Route, _ destination: RunDestination) {
        if sink != nil { return }
        // try?: the request says why it has no transport.
        if let choice = try? route.transportChoice(settings: destination.settings, available: world.transports) {
            open().prepare(choice.transport)
        }
    }

    /// Makes and submits the request of an attempt. Returns why no request can be made; `nil` if submitted, with the
    /// ticket `submitted`. Throws if no attempt can be made at all.
    func send(_ attempt: inout Attempt) throws(SinkError) -> RequestError? {
        var request: OutgoingRequest
        if attempt.maker.mayTakeLong { flush() }
        do throws(RequestError) {
            let made = try makeRequest(for: attempt)
            (request, attempt.secrets, attempt.redaction) = (made.request, made.secrets, made.redaction)
        } catch {
            return error
        }
        request.destination = attempt.destination.name
        let sink = open()
        if let defect = try attempt.maker.fitTransport(of: &request, to: sink) { return .noTransport(reason: defect) }
        adjust(&request)
        attempt.began = world.now()
        try sink.submit(request, ticket: submitted + 1)
        submitted += 1
        inFlight += 1
        if adapts, let length = request.body?.count, length >= Self.large {
            largeBodies[submitted] = length
            largeBytes += length
        }
        return nil
    }

    /// Whether one more attempt may begin beside those in flight.
    func hasRoom(beside inFlight: Int) -> Bool {
        inFlight < concurrency && (inFlight < AdaptiveConcurrency.initial || largeBytes < Self.mostBytes)
    }

    /// Whether large bodies are in flight. Then each attempt begins before the next is chosen.
    var sendsLargeBodies: Bool { !largeBodies.isEmpty }

    /// Sends the requests gathered for one system call. Called before long work.
    func flush() { sink?.flush() }

    /// Waits for reports until the deadline, or until `wakeup` is readable.
    func reports(
        until deadline: ContinuousClock.Instant, wakeup: Int32
    ) throws(SinkError) -> [(ticket: Int, report: AttemptReport)] {
        let reports = try sink?.reports(until: deadline, wakeup: wakeup) ?? []
        last = reports.last?.report ?? last
        let refused = reports.count { $0.report.error == .shortage }
        if refused > 0 { concurrency = max(1, min(concurrency, inFlight - refused)) }
        inFlight -= reports.count
        if !largeBodies.isEmpty {
            for (ticket, _) in reports { largeBytes -= largeBodies.removeValue(forKey: ticket) ?? 0 }
        }
        return reports
    }

    /// Ends the agents, and the attempts in flight without a report. The next request starts new agents.
    func close() {
        sink?.close()
        sink = nil
        (largeBodies, largeBytes, inFlight) = ([:], 0, 0)
    }

    private func open() -> any Sink {
        let sink = sink ?? world.makeSink(concurrency)
        self.sink = sink
        return sink
    }

    /// Makes the request of an attempt.
    func makeRequest(for attempt: Attempt) throws(RequestError) -> RequestMaker.Made {
        if let file = attempt.members.first?.operation.header.bodyFile,
            let refusal = spool.check(file, roots: configuration.bodyFileRoots)
        {
            guard case .system(let error) = refusal else {
                throw .badBodyFile(path: file.path, reason: refusal.description)
            }
            throw .unavailable(
                NetworkError(openingBodyFile: error),
                reason: "the body file '\(escapedForDisplay(file.path))' \(refusal)")
        }
        return try attempt.maker.request(
            for: attempt.members.map { ($0.operation, $0.name.attempts + 1 + attempt.unchargedCount) })
    }
}
