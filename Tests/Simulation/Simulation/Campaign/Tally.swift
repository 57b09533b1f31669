/// Sums over some histories.
package struct Tally: Hashable, Codable, Sendable {
    package var histories = 0
    package var steps = 0
    package var seconds = 0.0
    /// The number of histories that broke a sentence.
    package var bad = 0
    /// The digest of all histories. The order of the histories does not change the digest.
    package var digest: UInt64 = 0

    package init() {}

    mutating func add(_ other: Tally) {
        histories += other.histories
        steps += other.steps
        bad += other.bad
        digest ^= other.digest
    }
}
