/// A request as the receiver read it, whole: its body had arrived before it was answered and recorded.
package struct ReceivedRequest: Hashable, Sendable {
    /// 1 for the first request that the receiver answered.
    package var number: Int
    /// 1 for the first connection that was accepted; equal numbers mean that the connection was used again.
    package var connection: Int
    package var method: String
    /// As on the request line: path and query.
    package var target: String
    package var headers: [HeaderLine]
    /// Without its framing; empty where bodies are not recorded.
    package var body: [UInt8]
    /// The body's size, also where bodies are not recorded.
    package var bodyLength: Int
    /// When the last byte of it had been read.
    package var arrival: ContinuousClock.Instant

    package init(
        number: Int, connection: Int, method: String, target: String, headers: [HeaderLine], body: [UInt8],
        bodyLength: Int, arrival: ContinuousClock.Instant
    ) {
        self.number = number
        self.connection = connection
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
        self.bodyLength = bodyLength
        self.arrival = arrival
    }

    /// The first field of that name, compared without case.
    package func header(_ name: String) -> String? { headers.first(name) }

    /// The target up to its query.
    package var path: Substring { target.prefix { $0 != "?" } }

    /// The body as text, with U+FFFD for what is not UTF-8.
    package var text: String { String(decoding: body, as: UTF8.self) }
}
