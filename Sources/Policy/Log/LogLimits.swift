/// The size and age of the queue's log. What is older or beyond the size is removed, half of the log at a time.
package struct LogLimits: Hashable, Sendable {
    package var maxBytes: Int = Self.defaultBytes
    package var maxAge: Duration = Self.defaultAge

    package static let defaultBytes = 10_000_000
    /// The bounds of the files of ended operations: tens of thousands of lines.
    package static let ofEndings = LogLimits(maxBytes: 8_000_000)
    /// The bounds of the files of deliveries: as many as a busy run makes in half a minute. A `wait` looks more often.
    package static let ofDeliveries = LogLimits(maxBytes: 16_000_000)
    package static let defaultAge = Duration.seconds(30 * 86_400)
}
