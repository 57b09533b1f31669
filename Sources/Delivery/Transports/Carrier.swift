package import Policy

/// A transport within a delivery agent: makes attempts and reports each of them once.
package protocol Carrier: AnyObject {
    /// Starts an attempt of a request without a `refusal`; its report comes on any thread, or from within the call.
    func start(_ request: OutgoingRequest, ticket: Int)

    /// Ends an attempt and reports it as cancelled, unless it has been reported.
    func cancel(ticket: Int)

    /// Makes what attempts there are go on until `descriptor` has something to read. Returns at once where only reading it
    /// has to be waited for.
    func proceed(until descriptor: Int32)
}

/// Why a carrier cannot be had on this machine.
package struct NoCarrier: Error {
    package var reason: String

    package init(reason: String) { self.reason = reason }
}

package typealias CarrierReport = @Sendable (_ ticket: Int, AttemptReport) -> Void
package typealias MakeCarrier = (_ concurrency: Int, _ report: @escaping CarrierReport) throws(NoCarrier) -> any Carrier
