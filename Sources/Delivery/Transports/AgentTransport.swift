import CSystem
package import Policy

/// A transport within a delivery agent: makes attempts and reports each of them once.
package protocol AgentTransport: AnyObject {
    /// Starts an attempt of a request without a `refusal`. Its report comes on any thread, or during the call.
    func start(_ request: OutgoingRequest, ticket: Int)

    /// Ends an attempt and reports it as cancelled, unless it has been reported.
    func cancel(ticket: Int)

    /// Continues the attempts until `descriptor` is readable. Returns at once if there is nothing else to wait for:
    /// then the caller's read waits.
    func proceed(until descriptor: Int32)
}

/// The reason why a transport cannot be used on this machine.
package struct UnavailableTransport: Error, Hashable, Sendable {
    package var reason: String
    /// Whether this process has no memory or no descriptor left, which is a state of the moment, not of the machine.
    package var isPassing: Bool

    /// Creates the reason. `isPassing` is by default what this process finds now.
    package init(reason: String, isPassing: Bool = Errno.shortage(ofMemory: libraryMemory) != nil) {
        (self.reason, self.isPassing) = (reason, isPassing)
    }

    /// Upper bound on the memory that a library takes with all the libraries that it needs, in bytes.
    package static let libraryMemory = 64 << 20
}

/// Receives reports of attempts that have ended: in one call all those that a transport has at one moment.
package typealias TransportReport = @Sendable (_ ended: [(ticket: Int, report: AttemptReport)]) -> Void
package typealias MakeTransport = (_ concurrency: Int, _ report: @escaping TransportReport) throws(UnavailableTransport)
    -> any AgentTransport
