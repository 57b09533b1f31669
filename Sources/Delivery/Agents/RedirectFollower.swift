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
            transport = .success(try makeTransport(concurrency) { [unowned self] in arrive($0) })
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
        if let refusal = request.refusal { return fail(ticket, .badURL, refusal) }
        switch transport! {
        case .success(let transport): transport.start(request, ticket: ticket)
        case .failure(let error): fail(ticket, .other, error.reason)
        }
    }

    private func fail(_ ticket: Int, _ error: NetworkError, _ detail: String) {
        arrive([(ticket, AttemptReport(result: .failure(error, detail: detail), duration: .zero))])
    }

    // MARK: - Redirects

    /// Takes what a transport reports: of each attempt the end, or a redirect to be followed.
    ///
    /// The time that the parent gives the attempt is one for all hops.
    private func arrive(_ reports: [(ticket: Int, report: AttemptReport)]) {
        var ended = reports
        var hops: [(request: OutgoingRequest, ticket: Int)] = []
        journeys.withLock { journeys in
            if journeys.isEmpty { return }
            ended = reports.compactMap { ticket, report in
                guard let hop = follow(report, ticket, &journeys) else { return (ticket, report) }
                switch hop {
                case .end(let end): return (ticket, end)
                case .hop(let request):
                    hops.append((request, ticket))
                    return nil
                }
            }
        }
        if !ended.isEmpty { report(ended) }
        for (request, ticket) in hops {
            carry(request, ticket)
            // A cancellation between the two attempts found nothing to end, where the transport has its own threads.
            if journeys.withLock({ $0[ticket]?.isCancelled ?? false }) { cancel(ticket: ticket) }
        }
    }

    private enum Arrival {
        case end(AttemptReport)
        case hop(OutgoingRequest)
    }

    /// Returns what becomes of an attempt that may be redirected; `nil` for every other attempt.
    private func follow(_ report: AttemptReport, _ ticket: Int, _ journeys: inout [Int: Journey]) -> Arrival? {
        guard var journey = journeys.removeValue(forKey: ticket) else { return nil }
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
}
