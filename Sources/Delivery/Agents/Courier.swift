import Policy
import Synchronization

/// An agent's transports: carries each attempt by the one its request names, along its redirects, and reports it once.
///
/// A transport is opened when the first attempt asks for it: libcurl is not needed where nothing is sent through it.
final class Courier: Sendable {
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

    private let concurrency: Int
    private let report: @Sendable (_ ticket: Int, AttemptReport) -> Void
    /// By ticket.
    private let journeys = Mutex<[Int: Journey]>([:])
    /// Reports on threads of its own, on which it may be given the next hop.
    private let urlSession = Mutex<URLSessionTransport?>(nil)
    /// Used on the agent's thread alone, where it also reports. Why it cannot be had is found out once.
    nonisolated(unsafe) private var libcurl: Result<CurlTransport, NoLibcurl>?

    private struct NoLibcurl: Error {
        var reason: String
    }

    init(concurrency: Int, report: @escaping @Sendable (_ ticket: Int, AttemptReport) -> Void) {
        self.concurrency = concurrency
        self.report = report
    }

    /// Starts an attempt; its report comes on URLSession's thread, or on this one.
    func start(_ request: OutgoingRequest, ticket: Int) {
        switch request.redirects {
        case .never: break
        case .sameOrigin: journeys.withLock { $0[ticket] = Journey(request: request) }
        }
        carry(request, ticket)
    }

    /// Ends an attempt and reports it as cancelled, unless it has been reported.
    func cancel(ticket: Int) {
        journeys.withLock { $0[ticket]?.isCancelled = true }
        urlSession.withLock(\.self)?.cancel(ticket: ticket)
        if case .success(let transport) = libcurl { transport.cancel(ticket: ticket) }
    }

    /// Makes what attempts there are go on until `descriptor` has something to read. Returns at once where only reading it
    /// has to be waited for.
    func proceed(until descriptor: Int32) {
        if case .success(let transport) = libcurl { transport.proceed(until: descriptor) }
    }

    private func carry(_ request: OutgoingRequest, _ ticket: Int) {
        if let refusal = request.refusal {
            return arrive(ticket, AttemptReport(result: .failure(.badURL, detail: refusal), duration: .zero))
        }
        switch request.transport {
        case .urlsession: openURLSession().start(request, ticket: ticket)
        case .libcurl:
            switch openLibcurl() {
            case .success(let transport): transport.start(request, ticket: ticket)
            case .failure(let error):
                arrive(ticket, AttemptReport(result: .failure(.other, detail: error.reason), duration: .zero))
            }
        }
    }

    private func openURLSession() -> URLSessionTransport {
        urlSession.withLock { transport in
            let opened =
                transport ?? URLSessionTransport(concurrency: concurrency) { [weak self] in self?.arrive($0, $1) }
            transport = opened
            return opened
        }
    }

    private func openLibcurl() -> Result<CurlTransport, NoLibcurl> {
        if let libcurl { return libcurl }
        let opened: Result<CurlTransport, NoLibcurl>
        if let defect = Libcurl.defect {
            opened = .failure(NoLibcurl(reason: defect))
        } else if let transport = CurlTransport(
            concurrency: concurrency, report: { [unowned self] in arrive($0, $1) })
        {
            opened = .success(transport)
        } else {
            opened = .failure(NoLibcurl(reason: "libcurl has no memory to begin with"))
        }
        libcurl = opened
        return opened
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
        let arrival = journeys.withLock { journeys -> Arrival in
            guard var journey = journeys.removeValue(forKey: ticket) else { return .end(report) }
            var end = report
            end.duration = journey.began.duration(to: .now)
            guard let next = journey.next(after: report) else { return .end(end) }
            if journey.isCancelled {
                end.result = .failure(.cancelled, detail: "")
                return .end(end)
            }
            journey.request = next
            journey.hops += 1
            journeys[ticket] = journey
            return .hop(next)
        }
        switch arrival {
        case .end(let report): self.report(ticket, report)
        case .hop(let request):
            carry(request, ticket)
            // A cancellation between the two attempts found nothing to end, with URLSession, which is on another thread.
            let isCancelled = journeys.withLock { $0[ticket]?.isCancelled ?? false }
            if isCancelled { urlSession.withLock(\.self)?.cancel(ticket: ticket) }
        }
    }
}
