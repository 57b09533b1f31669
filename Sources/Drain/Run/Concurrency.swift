import Policy

/// The number of attempts in flight at once.
package enum Concurrency: Hashable, Sendable {
    /// For each destination as many as its server sustains, see `AdaptiveConcurrency`.
    case auto
    case atMost(Int)

    /// The most attempts in flight at once, to all destinations together.
    package var most: Int {
        switch self {
        case .auto: AdaptiveConcurrency.highest
        case .atMost(let count): count
        }
    }
}
