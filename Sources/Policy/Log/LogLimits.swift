/// The size and age of the queue's log. What is older or beyond the size is removed, half of the log at a time.
package struct LogLimits: Hashable, Sendable {
    package var maxBytes: Int = Self.defaultBytes
    package var maxAge: Duration = Self.defaultAge

    package static let defaultBytes = 10_000_000
    package static let defaultAge = Duration.seconds(30 * 86_400)
}
