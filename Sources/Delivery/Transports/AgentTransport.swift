package import Policy

/// A transport within a delivery agent: makes attempts and reports each of them once.
package protocol AgentTransport: AnyObject {
    /// Starts an attempt of a request without a `refusal`. Its report comes on any thread, or during the call.
    func start(_ request: OutgoingRequest, ticket: Int)

    /// Ends an attempt and reports it as cancelled, unless already reported.
    func cancel(ticket: Int)

    /// Continues the attempts until `descriptor` is readable. Returns at once if there is nothing else to wait for:
    /// then the caller's read waits.
    func proceed(until descriptor: Int32)
}

/// Receives reports of ended attempts: in one call all those that a transport has at one moment.
package typealias TransportReport = @Sendable (_ ended: [(ticket: Int, report: AttemptReport)]) -> Void
package typealias MakeTransport = (_ concurrency: Int, _ report: @escaping TransportReport) throws(UnavailableTransport)
    -> any AgentTransport
