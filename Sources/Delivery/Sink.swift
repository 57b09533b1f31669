package import Policy

/// The interface between a run and the network: takes requests and returns reports.
///
/// One thread uses a sink. `submit` never blocks. A sink holds no queue state, and reports every ticket exactly once,
/// within the request's `timeouts.total` and a short grace, whatever the server or the transport does. An attempt that
/// had not begun when its agent ended is reported so (`AttemptReport.isUnbegun`), and the caller decides whether to
/// submit its request again: operations expire meanwhile, and operators hold what was to be sent.
package protocol Sink: AnyObject {
    /// Starts what attempts by a transport need. Reports no failure: `submit` throws a lasting failure.
    func prepare(_ transport: Transport)

    /// Returns why this machine cannot make attempts by a transport, in one line; `nil` if it can.
    func defect(of transport: Transport) throws(SinkError) -> String?

    /// Starts an attempt, at the latest during the next call of `reports`. The caller keeps no more attempts in flight
    /// than the concurrency of the sink.
    func submit(_ request: OutgoingRequest, ticket: Int) throws(SinkError)

    /// Sends what `submit` has started and not sent yet. For a caller about to do something slow.
    func flush()

    /// Waits until at least one report is available, `deadline` has passed, or one of `wakeups` (descriptors, -1 for
    /// none) is readable. Returns all available reports, possibly none. Does not read from `wakeups`.
    func reports(until deadline: ContinuousClock.Instant, wakeups: [Int32]) throws(SinkError) -> [(
        ticket: Int, report: AttemptReport
    )]

    /// Ends the agents and the attempts in flight, and drops their reports. Idempotent. `submit` and `reports` throw
    /// afterwards.
    func close()
}

extension Sink {
    package func flush() {}
}

/// The error of a sink that cannot make any attempt. No single request causes it.
package struct SinkError: Error, Hashable, Sendable, CustomStringConvertible {
    /// `cannot start a delivery agent: Resource temporarily unavailable`
    package var description: String

    package init(_ description: String) {
        self.description = description
    }
}
