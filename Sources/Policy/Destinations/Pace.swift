/// An even spacing of the starts of attempts. Times are those of the caller's monotonic clock.
package struct Pace: Sendable {
    package let interval: Duration
    private var next: Duration?

    /// Creates a spacing; an interval of `nil` delays nothing.
    package init(interval: Duration?) { self.interval = interval ?? .zero }

    /// Whether the spacing delays anything.
    package var isSpaced: Bool { interval > .zero }

    /// Returns how long the next attempt must wait from `elapsed` on; zero if it may begin now.
    package func wait(at elapsed: Duration) -> Duration { max(.zero, (next ?? elapsed) - elapsed) }

    /// Returns the spacing after an attempt begins. Missed starts are not made up for: after a quiet time there is no
    /// burst.
    package func begun(at elapsed: Duration) -> Pace {
        guard isSpaced else { return self }
        var pace = self
        pace.next = max(next ?? elapsed, elapsed) + interval
        return pace
    }
}
