import Policy
import Synchronization

/// Carries each attempt along its redirects, by an agent's transport, and reports it once.
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

    private let report: CarrierReport
    /// By ticket.
    private let journeys = Mutex<[Int: Journey]>([:])
    /// Written once, at the beginning. It reports on the agent's thread, or on threads of its own, on which it may be given
    /// the next hop.
    nonisolated(unsafe) private var carrier: Result<any Carrier, NoCarrier>!

    init(concurrency: Int, _ makeCarrier: MakeCarrier, report: @escaping CarrierReport) {
        self.report = report
        do throws(NoCarrier) {
            carrier = .success(try makeCarrier(concurrency) { [unowned self] in arrive($0, $1) })
        } catch {
            carrier = .failure(error)
        }
    }

    /// Why no attempt can be made.
    var defect: String? {
        if case .failure(let error) = carrier { error.reason } else { nil }
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
        if case .success(let carrier) = carrier { carrier.cancel(ticket: ticket) }
    }

    /// Makes what attempts there are go on until `descriptor` has something to read. Returns at once where only reading it
    /// has to be waited for.
    func proceed(until descriptor: Int32) {
        if case .success(let carrier) = carrier { carrier.proceed(until: descriptor) }
    }

    private func carry(_ request: OutgoingRequest, _ ticket: Int) {
        if let refusal = request.refusal {
            return arrive(ticket, AttemptReport(result: .failure(.badURL, detail: refusal), duration: .zero))
        }
        switch carrier! {
        case .success(let carrier): carrier.start(request, ticket: ticket)
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
