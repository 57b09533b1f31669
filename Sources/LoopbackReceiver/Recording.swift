/// How much a receiver remembers of what it gets.
package enum Recording: Hashable, Sendable {
    case everything
    /// Everything but the bodies.
    case heads
    /// Numbers only: memory stays flat and nothing is decoded, for benchmarks.
    case counts
}
