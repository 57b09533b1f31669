package import Policy

/// The seam between a run and the world: it takes requests and returns reports.
///
/// Used from one thread. A sink never blocks in `submit`, holds no queue state, and reports every ticket exactly once,
/// within the request's `timeouts.total` and a short grace, whatever the server or the transport does. An attempt
/// that had not begun when another one killed the agent of both goes to another agent, and has that time again.
package protocol Sink: AnyObject {
    /// Begins with what attempts by a transport need. If that fails it shows where they are made.
    func prepare(_ transport: Transport)

    /// Why no attempt can be made by a transport on this machine, in one line; `nil` where there can.
    func defect(of transport: Transport) throws(SinkError) -> String?

    /// Starts an attempt, with the next call of `reports` at the latest. The caller keeps at most as many attempts in flight
    /// as it told the sink when making it.
    func submit(_ request: OutgoingRequest, ticket: Int) throws(SinkError)

    /// Sends what `submit` has started and not sent yet. For a caller that is about to do something that takes long.
    func flush()

    /// Waits until at least one report is there, `deadline` has passed, or `wakeup` (a descriptor, -1 for none)
    /// is readable, and returns all reports that are there, possibly none. `wakeup` is not read from.
    func reports(until deadline: ContinuousClock.Instant, wakeup: Int32) throws(SinkError) -> [(
        ticket: Int, report: AttemptReport
    )]

    /// Ends what is in flight without reporting it, and the agents. Idempotent. `reports` throws from then on.
    func close()
}

extension Sink {
    package func flush() {}
}

/// Attempts cannot be made at all: nothing that a single request is to blame for.
package struct SinkError: Error, Hashable, Sendable, CustomStringConvertible {
    /// `cannot start a delivery agent: Resource temporarily unavailable`
    package var description: String

    package init(_ description: String) {
        self.description = description
    }
}
