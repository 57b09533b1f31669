package import Policy

/// A transport within a delivery agent: makes attempts and reports each of them once.
package protocol AgentTransport: AnyObject {
    /// Starts an attempt of a request without a `refusal`; its report comes on any thread, or from within the call.
    func start(_ request: OutgoingRequest, ticket: Int)

    /// Ends an attempt and reports it as cancelled, unless it has been reported.
    func cancel(ticket: Int)

    /// Makes the attempts go on until `descriptor` has something to read. Returns at once where there is nothing else to wait
    /// for: then the caller's read waits.
    func proceed(until descriptor: Int32)
}

/// Why a transport cannot be had on this machine.
package struct UnavailableTransport: Error {
    package var reason: String

    package init(reason: String) { self.reason = reason }
}

/// Takes the reports of attempts that have ended: those that a transport has at one moment, in one call.
package typealias TransportReport = @Sendable (_ ended: [(ticket: Int, report: AttemptReport)]) -> Void
package typealias MakeTransport = (_ concurrency: Int, _ report: @escaping TransportReport) throws(UnavailableTransport)
    -> any AgentTransport
