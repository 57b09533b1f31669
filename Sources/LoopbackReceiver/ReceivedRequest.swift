/// A request that has arrived completely, before it was answered.
package struct ReceivedRequest: Hashable, Sendable {
    /// The number of the request, from 1 in order of arrival.
    package var number: Int
    /// The number of its connection, from 1 in order of acceptance. Equal numbers mean that the connection was reused.
    package var connection: Int
    package var method: String
    /// The path and query, as on the request line.
    package var target: String
    package var headers: [HeaderLine]
    /// The body without its framing; empty if bodies are not recorded.
    package var body: [UInt8]
    /// The body's length in bytes, also if bodies are not recorded.
    package var bodyLength: Int
    /// The time when its last byte had been read.
    package var arrival: ContinuousClock.Instant

    /// Returns the value of the first field of that name, compared without case.
    package func header(_ name: String) -> String? { headers.first(name) }

    /// The target without its query.
    package var path: Substring { target.prefix { $0 != "?" } }

    /// The body as text, with U+FFFD for bytes that are not UTF-8.
    package var text: String { String(decoding: body, as: UTF8.self) }
}
