import Policy
import Synchronization

/// Makes attempts by an agent's transport, follows their redirects, and reports each attempt once.
final class RedirectFollower: Sendable {
    /// An attempt that may be redirected.
    private struct RedirectableAttempt {
        var request: OutgoingRequest
        let began = ContinuousClock.now
        var hops = 0
        var isCancelled = false

        /// Returns the request that follows the answer's redirect; `nil` if the redirect must not be followed or the
        /// hops are used up.
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
    /// The attempts that may be redirected, by ticket.
    private let journeys = Mutex<[Int: RedirectableAttempt]>([:])
    /// The last request that was given to the transport, without its body.
    private let accepted = Mutex<OutgoingRequest?>(nil)
    /// Written once, in `init`. The transport reports on the agent's thread or on threads of its own, and can be given
    /// the next hop there.
    nonisolated(unsafe) private var transport: Result<any AgentTransport, UnavailableTransport>!

    init(concurrency: Int, _ makeTransport: MakeTransport, report: @escaping TransportReport) {
        self.report = report
        do throws(UnavailableTransport) {
            transport = .success(try makeTransport(concurrency) { [unowned self] in arrive($0) })
        } catch {
            transport = .failure(error)
        }
    }

    /// Why no attempt can be made; `nil` if attempts can be made.
    var defect: UnavailableTransport? {
        if case .failure(let error) = transport { error } else { nil }
    }

    /// Starts an attempt. Its report comes on the transport's thread or on this one.
    func start(_ request: OutgoingRequest, ticket: Int) {
        switch request.redirects {
        case .never: break
        case .sameOrigin: journeys.withLock { $0[ticket] = RedirectableAttempt(request: request) }
        }
        carry(request, ticket)
    }

    /// Ends an attempt and reports it as cancelled, unless already reported.
    func cancel(ticket: Int) {
        journeys.withLock { $0[ticket]?.isCancelled = true }
        if case .success(let transport) = transport { transport.cancel(ticket: ticket) }
    }

    /// Continues the attempts until `descriptor` is readable. Returns at once if there is nothing else to wait for:
    /// then the caller's read waits.
    func proceed(until descriptor: Int32) {
        if case .success(let transport) = transport { transport.proceed(until: descriptor) }
    }

    private func carry(_ request: OutgoingRequest, _ ticket: Int) {
        let refusal = accepted.withLock { accepted in
            let refusal = request.refusal(after: accepted)
            if refusal == nil { accepted = OutgoingRequest(request.base, headers: request.headers) }
            return refusal
        }
        if let refusal { return fail(ticket, .badURL, refusal) }
        switch transport! {
        case .success(let transport): transport.start(request, ticket: ticket)
        case .failure(let error): fail(ticket, .machine, error.reason)
        }
    }

    private func fail(_ ticket: Int, _ error: NetworkError, _ detail: String) {
        arrive([(ticket, AttemptReport(result: .failure(error, detail: detail), duration: .zero))])
    }

    // MARK: - Redirects

    /// Receives a transport's reports. Reports ended attempts, and continues redirected attempts.
    ///
    /// All hops of an attempt share the time given by the parent.
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
            // A cancellation between two hops found nothing to end if the transport has its own threads.
            if journeys.withLock({ $0[ticket]?.isCancelled ?? false }) { cancel(ticket: ticket) }
        }
    }

    private enum NextStep {
        case end(AttemptReport)
        case hop(OutgoingRequest)
    }

    /// Returns the end or the next hop of an attempt that may be redirected; `nil` for every other attempt.
    private func follow(_ report: AttemptReport, _ ticket: Int, _ journeys: inout [Int: RedirectableAttempt])
        -> NextStep?
    {
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
