/// The size and age of the queue's log. What is older or beyond the size is removed, half of the log at a time.
package struct LogLimits: Hashable, Sendable {
    package var maxBytes: Int
    package var maxAge: Duration

    package init(maxBytes: Int = Self.defaultBytes, maxAge: Duration = Self.defaultAge) {
        self.maxBytes = maxBytes
        self.maxAge = maxAge
    }

    package static let defaultBytes = 10_000_000
    package static let defaultAge = Duration.seconds(30 * 86_400)
}
