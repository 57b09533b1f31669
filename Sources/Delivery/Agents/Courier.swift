import Policy
import Synchronization

/// An agent's transports: carries each attempt by the one its request names, along its redirects, and reports it once.
///
/// A transport is opened when the first attempt asks for it: libcurl is not needed where nothing is sent through it.
final class Courier: Sendable {
    /// What attempts are given to. Each that is started is reported once, on any thread.
    private enum Carrier: Sendable {
        case urlSession(URLSessionTransport)
        case libcurl(CurlTransport)
        case missing(reason: String)
    }

    /// An attempt that may be redirected.
    private struct Journey {
        var request: OutgoingRequest
        let began = ContinuousClock.now
        var hops = 0
        var isCancelled = false

        /// The same request to where the answer points, if that may be followed and has not been too often.
        func next(after report: AttemptReport) -> OutgoingRequest? {
            guard hops < Redirect.mostFollowed, case .answer(let answer) = report.result,
                let target = Redirect.target(of: answer, from: request.url)
            else { return nil }
            var next = request
            next.url = target
            return next
        }
    }

    private struct State {
        var carriers: [Transport: Carrier] = [:]
        /// By ticket.
        var journeys: [Int: Journey] = [:]
    }

    private let concurrency: Int
    private let report: @Sendable (_ ticket: Int, AttemptReport) -> Void
    private let state = Mutex(State())

    init(concurrency: Int, report: @escaping @Sendable (_ ticket: Int, AttemptReport) -> Void) {
        self.concurrency = concurrency
        self.report = report
    }

    /// Starts an attempt; its report comes on another thread, or on this one if the request is refused.
    func start(_ request: OutgoingRequest, ticket: Int) {
        switch request.redirects {
        case .never: break
        case .sameOrigin: state.withLock { $0.journeys[ticket] = Journey(request: request) }
        }
        carry(request, ticket)
    }

    /// Ends an attempt and reports it as cancelled, unless it has been reported.
    func cancel(ticket: Int) {
        let carriers = state.withLock { state in
            state.journeys[ticket]?.isCancelled = true
            return Array(state.carriers.values)
        }
        for carrier in carriers { cancel(ticket, carrier) }
    }

    private func cancel(_ ticket: Int, _ carrier: Carrier) {
        switch carrier {
        case .urlSession(let transport): transport.cancel(ticket: ticket)
        case .libcurl(let transport): transport.cancel(ticket: ticket)
        case .missing: break
        }
    }

    private func carry(_ request: OutgoingRequest, _ ticket: Int) {
        if let refusal = request.refusal {
            return arrive(ticket, AttemptReport(result: .failure(.badURL, detail: refusal), duration: .zero))
        }
        switch carrier(for: request.transport) {
        case .urlSession(let transport): transport.start(request, ticket: ticket)
        case .libcurl(let transport): transport.start(request, ticket: ticket)
        case .missing(let reason):
            arrive(ticket, AttemptReport(result: .failure(.other, detail: reason), duration: .zero))
        }
    }

    private func carrier(for transport: Transport) -> Carrier {
        state.withLock { state in
            if let carrier = state.carriers[transport] { return carrier }
            let carrier = open(transport)
            state.carriers[transport] = carrier
            return carrier
        }
    }

    private func open(_ transport: Transport) -> Carrier {
        let arrive = { @Sendable [weak self] (ticket: Int, report: AttemptReport) -> Void in
            self?.arrive(ticket, report)
        }
        switch transport {
        case .urlsession:
            return .urlSession(URLSessionTransport(concurrency: concurrency, report: arrive))
        case .libcurl:
            if let defect = Libcurl.defect { return .missing(reason: defect) }
            let transport = CurlTransport(concurrency: concurrency, report: arrive)
            return transport.map(Carrier.libcurl) ?? .missing(reason: "libcurl has no memory to begin with")
        }
    }

    // MARK: - Redirects

    private enum Arrival {
        case end(AttemptReport)
        case hop(OutgoingRequest)
    }

    /// Takes what a transport reports: the end of the attempt, or a redirect to be followed.
    ///
    /// The time that the parent gives the attempt is one for all hops.
    private func arrive(_ ticket: Int, _ report: AttemptReport) {
        let arrival = state.withLock { state -> Arrival in
            guard var journey = state.journeys.removeValue(forKey: ticket) else { return .end(report) }
            var end = report
            end.duration = journey.began.duration(to: .now)
            guard let next = journey.next(after: report) else { return .end(end) }
            if journey.isCancelled {
                end.result = .failure(.cancelled, detail: "")
                return .end(end)
            }
            journey.request = next
            journey.hops += 1
            state.journeys[ticket] = journey
            return .hop(next)
        }
        switch arrival {
        case .end(let report): self.report(ticket, report)
        case .hop(let request):
            carry(request, ticket)
            // A cancellation between the two attempts found nothing to end.
            let isCancelled = state.withLock { $0.journeys[ticket]?.isCancelled ?? false }
            if isCancelled { cancel(ticket: ticket) }
        }
    }
}
