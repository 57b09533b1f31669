/// Sums over some histories.
package struct Tally: Hashable, Codable, Sendable {
    package var histories = 0
    package var steps = 0
    package var seconds = 0.0
    /// The number of histories that broke a sentence.
    package var bad = 0
    /// The digest of all histories. The order of the histories does not change the digest.
    package var digest: UInt64 = 0
    /// What each sentence has judged and excused, by its name.
    package var sentences: [String: Judging.Count] = [:]

    package init() {}

    init(_ counts: [Property: Judging.Count]) {
        for (property, count) in counts { sentences[property.rawValue] = count }
    }

    mutating func add(_ other: Tally) {
        histories += other.histories
        steps += other.steps
        bad += other.bad
        digest ^= other.digest
        for (name, count) in other.sentences {
            sentences[name, default: Judging.Count()].judged += count.judged
            sentences[name, default: Judging.Count()].excused += count.excused
        }
    }
}
