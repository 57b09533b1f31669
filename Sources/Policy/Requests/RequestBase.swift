/// What the requests of a route to a destination usually have in common: all but header fields and body.
///
/// Never changes, so requests share one: they are copied at each step from the operation to its transport, a delivery
/// agent is sent a base once, and a transport prepares it once.
package final class RequestBase: Hashable, Sendable {
    package let values: Values

    package struct Values: Hashable, Sendable {
        @Bytewise package var method: String
        /// Absolute, `http` or `https`, percent-encoded.
        @Bytewise package var url: String
        /// Streamed instead of a body in memory.
        package var bodyFile: BodyFile?
        package var timeouts = Timeouts()
        /// The number of bytes kept of the answer's body. A longer answer is cut there, and the transfer ends.
        package var answerLimit = 65_536
        package var transport: Transport = .urlsession
        package var connection = ConnectionOptions()
        package var redirects: Redirects = .never

        package init(method: String, url: String) {
            self.method = method
            self.url = url
        }
    }

    package init(_ values: Values) { self.values = values }

    package static func == (left: RequestBase, right: RequestBase) -> Bool {
        left === right || left.values == right.values
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(values) }
}
