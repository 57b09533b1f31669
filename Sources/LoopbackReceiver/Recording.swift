/// The parts of requests that a receiver records.
package enum Recording: Hashable, Sendable {
    case everything
    /// Everything but the bodies.
    case heads
    /// Numbers only, for benchmarks: memory stays constant, and no header field is decoded.
    case counts
}
