/// What the requests of a route to a destination usually have in common: all but header fields and body.
///
/// Never changes, so requests share one: they are copied at each step from the operation to its transport, a delivery
/// agent is sent a base once, and a transport prepares it once.
package final class RequestBase: Hashable, Sendable {
    package let values: Values
    /// Whether the transport was chosen for a request with a body besides a file.
    let hasBody: Bool

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

    package init(_ values: Values, hasBody: Bool = false) { (self.values, self.hasBody) = (values, hasBody) }

    /// Whether a draft has this base, with the settings and the transports for which the base was made.
    func isBase(of draft: RequestDraft, hasBody: Bool, _ settings: DestinationSettings) -> Bool {
        self.hasBody == hasBody && values.bodyFile == nil && draft.content.file == nil
            && values.url.hasBytes(of: draft.url) && values.method.hasBytes(of: draft.method)
            // Options with secrets differ from those of the settings.
            && values.connection == settings.connection
    }

    package static func == (left: RequestBase, right: RequestBase) -> Bool {
        left === right || left.values == right.values
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(values) }
}
