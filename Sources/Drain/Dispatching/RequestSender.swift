import CSystem
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
    /// a shortage, until the end of the pass.
    private(set) var concurrency: Int
    private let most: Int
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
    /// The threads on which attempts wait for credentials, and the tickets of the attempts.
    private var background: BackgroundWork?
    private var working: Set<Int> = []
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
        (self.concurrency, most) = (concurrency, concurrency)
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

    /// Makes the request of an attempt, or returns why none can be made. Throws if no attempt can be made at all.
    func request(for attempt: Attempt) throws(SinkError) -> Result<OutgoingRequest, RequestError> {
        let made: RequestMaker.Made
        do throws(RequestError) {
            let signature = if let signature = attempt.signature { signature } else { try signed(attempt) }
            made = signature.made
            (attempt.signature, attempt.credentials) = (nil, made.credentials)
            try attempt.maker.finish(made, signed: try signature.fields.get())
            // The answer may also echo the secrets of an earlier request for the operations.
            (attempt.secrets, attempt.redaction) = (made.secrets, attempt.redaction.joined(with: made.redaction))
        } catch {
            return .failure(error)
        }
        var request = made.request
        request.destination = attempt.destination.name
        request.needsHTTP1 = attempt.destination.control.needsHTTP1(at: world.now())
        if let defect = try attempt.maker.fitTransport(of: &request, to: open()) {
            return .failure(.noTransport(reason: defect))
        }
        adjust(&request)
        return .success(request)
    }

    /// Returns the work for which an attempt waits beside the deliveries before its request can be made; `nil` if there
    /// is none.
    func work(before attempt: Attempt) -> CredentialWork? {
        guard world.credentials.waitsBeside, attempt.signature == nil, let first = attempt.members.first else {
            return nil
        }
        if let secrets = attempt.maker.secretWork(for: first.operation) { return CredentialWork { _ in secrets() } }
        // try?: making the request says what is wrong.
        guard attempt.maker.route.headersCommand != nil, let made = try? unsignedRequest(for: attempt) else {
            return nil
        }
        return CredentialWork { [maker = attempt.maker] in $0.signature = (made, maker.fields(of: made.request)) }
    }

    /// Begins work whose end `ended` reports under the ticket.
    func begin(_ work: CredentialWork, ticket: Int) {
        let background = background ?? BackgroundWork()
        self.background = background
        working.insert(ticket)
        background.begin(ticket, work.callAsFunction)
    }

    /// Removes and returns the tickets of the work that has ended.
    func takeEnded() -> [Int] {
        let ended = background?.takeDone().filter { working.contains($0) } ?? []
        working.subtract(ended)
        return ended
    }

    /// Submits the request of an attempt, with the ticket `submitted`. The request begins with its handover: what
    /// secrets and commands cost before is no part of it.
    func submit(
        _ request: OutgoingRequest, of attempt: Attempt, from spoolRun: SpoolRun
    ) throws(SinkError) {
        let sink = open()
        attempt.began = world.now()
        attempt.request = spoolRun.begin(attempt.claims)
        try sink.submit(request, ticket: submitted + 1)
        submitted += 1
        inFlight += 1
        if adapts, let length = request.body?.count, length >= Self.large {
            largeBodies[submitted] = length
            largeBytes += length
        }
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
        var wakeups = [wakeup]
        if !working.isEmpty, let background { wakeups.append(background.wakeup) }
        if sink == nil, !working.isEmpty { BackgroundWork.wait(for: wakeups, until: deadline) }
        let reports = try sink?.reports(until: deadline, wakeups: wakeups) ?? []
        last = reports.last?.report ?? last
        let refused = reports.count { $0.report.error == .shortage }
        if refused > 0 { concurrency = max(1, min(concurrency, inFlight - refused)) }
        inFlight -= reports.count
        if !largeBodies.isEmpty {
            for (ticket, _) in reports { largeBytes -= largeBodies.removeValue(forKey: ticket) ?? 0 }
        }
        return reports
    }

    /// Forgets the shortages of a pass.
    func endPass() { concurrency = most }

    /// Ends the agents, and the attempts in flight without a report. The next request starts new agents.
    func close() {
        if !working.isEmpty { background?.close() }
        working = []
        sink?.close()
        sink = nil
        (largeBodies, largeBytes, inFlight) = ([:], 0, 0)
    }

    private func open() -> any Sink {
        let sink = sink ?? world.makeSink(concurrency)
        self.sink = sink
        return sink
    }

    /// Makes the request of an attempt. May wait for credentials.
    func makeRequest(for attempt: Attempt) throws(RequestError) -> RequestMaker.Made {
        let (made, fields) = try signed(attempt)
        try attempt.maker.finish(made, signed: try fields.get())
        return made
    }

    private func signed(_ attempt: Attempt) throws(RequestError) -> Attempt.Signature {
        let made = try unsignedRequest(for: attempt)
        return (made, attempt.maker.fields(of: made.request))
    }

    private func unsignedRequest(for attempt: Attempt) throws(RequestError) -> RequestMaker.Made {
        let operations = try attempt.members.map { (member) throws(RequestError) in
            guard let file = member.operation.bodyFile else { return member.operation }
            var operation = member.operation
            operation.header.bodyFile = try sendable(file)
            return operation
        }
        let attempts = attempt.members.reduce(0) { max($0, $1.name.attempts) }
        return try attempt.maker.unsigned(for: operations, attempt: attempts + 1 + attempt.unchargedCount)
    }

    /// Returns a body file as it can be sent now.
    private func sendable(_ file: BodyFile) throws(RequestError) -> BodyFile {
        switch spool.current(file, roots: configuration.bodyFileRoots) {
        case .success(let current): return current
        case .failure(let refusal):
            guard let error = refusal.fault else {
                throw .badBodyFile(path: file.path, reason: refusal.description)
            }
            // An error that would be about a file is one about its directory here.
            throw .unavailable(
                error.isAboutTheFile ? .machine : NetworkError(openingBodyFile: error),
                reason: "the body file '\(escapedForDisplay(file.path))' \(refusal)")
        }
    }
}
