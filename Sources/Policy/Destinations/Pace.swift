/// Spaces the beginnings of attempts evenly; time is the caller's monotonic clock.
package struct Pace: Sendable {
    package let interval: Duration
    private var next: Duration?

    /// `nil` is as fast as it goes.
    package init(interval: Duration?) {
        self.interval = interval ?? .zero
    }

    /// Whether it delays anything.
    package var isSpaced: Bool { interval > .zero }

    /// How long until one more may begin, from `elapsed` on; zero for now.
    package func wait(at elapsed: Duration) -> Duration {
        max(.zero, (next ?? elapsed) - elapsed)
    }

    /// One begins. What was missed is not made up for: after a quiet time there is no burst.
    package mutating func begin(at elapsed: Duration) {
        guard isSpaced else { return }
        next = max(next ?? elapsed, elapsed) + interval
    }
}
