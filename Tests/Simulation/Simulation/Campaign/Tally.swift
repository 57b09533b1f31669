/// What playing some histories came to.
package struct Tally: Hashable, Codable, Sendable {
    package var histories = 0
    package var steps = 0
    package var seconds = 0.0
    /// The histories that broke any sentence.
    package var bad = 0
    /// The digest of all histories, whatever the order in which they were played.
    package var digest: UInt64 = 0

    package init() {}

    mutating func add(_ other: Tally) {
        histories += other.histories
        steps += other.steps
        bad += other.bad
        digest ^= other.digest
    }
}
