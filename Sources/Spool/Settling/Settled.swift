/// Where a settled operation is.
package enum Settled: Hashable, Sendable {
    /// Delivered and not kept, or superseded.
    case gone
    case moved(Entry)
    case quarantined(QuarantineItem)
    /// Delivered, and its copy or the answer in it could not be kept.
    case unkept(SpoolError)
}
