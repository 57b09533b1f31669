/// Time in which this process stood still: it was stopped, its container was frozen, or its machine slept. The time is
/// nobody's, so deadlines move by it.
///
/// Nothing tells a process so. But a wait that ends much later than planned was not only a wait.
package enum Standstill {
    /// The most by which a wait ends late on a machine that is only busy.
    private static let slack = Duration.milliseconds(500)

    /// Returns the time by which deadlines move after a wait that took `actual`; zero if it ended about as planned.
    /// The process may have stood still from the beginning of the wait on, so the whole of it does not count.
    package static func duration(of actual: Duration, planned: Duration) -> Duration {
        actual > max(.zero, planned) + slack ? actual : .zero
    }
}
