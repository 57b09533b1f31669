import Policy
import Synchronization

/// Carries each attempt along its redirects, by an agent's transport, and reports it once.
final class RedirectFollower: Sendable {
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

    private let report: TransportReport
    /// By ticket.
    private let journeys = Mutex<[Int: Journey]>([:])
    /// Written once, at the beginning. It reports on the agent's thread, or on threads of its own, on which it may be given
    /// the next hop.
    nonisolated(unsafe) private var transport: Result<any AgentTransport, UnavailableTransport>!

    init(concurrency: Int, _ makeTransport: MakeTransport, report: @escaping TransportReport) {
        self.report = report
        do throws(UnavailableTransport) {
            transport = .success(try makeTransport(concurrency) { [unowned self] in arrive($0, $1) })
        } catch {
            transport = .failure(error)
        }
    }

    /// Why no attempt can be made.
    var defect: String? {
        if case .failure(let error) = transport { error.reason } else { nil }
    }

    /// Starts an attempt; its report comes on the transport's thread, or on this one.
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
        if case .success(let transport) = transport { transport.cancel(ticket: ticket) }
    }

    /// Makes the attempts go on until `descriptor` has something to read. Returns at once where there is nothing else to wait
    /// for: then the caller's read waits.
    func proceed(until descriptor: Int32) {
        if case .success(let transport) = transport { transport.proceed(until: descriptor) }
    }

    private func carry(_ request: OutgoingRequest, _ ticket: Int) {
        if let refusal = request.refusal {
            return arrive(ticket, AttemptReport(result: .failure(.badURL, detail: refusal), duration: .zero))
        }
        switch transport! {
        case .success(let transport): transport.start(request, ticket: ticket)
        case .failure(let error):
            arrive(ticket, AttemptReport(result: .failure(.other, detail: error.reason), duration: .zero))
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
            // A cancellation between the two attempts found nothing to end, where the transport has its own threads.
            if journeys.withLock({ $0[ticket]?.isCancelled ?? false }) { cancel(ticket: ticket) }
        }
    }
}
