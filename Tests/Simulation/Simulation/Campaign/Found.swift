/// A sentence of the contract that a history has broken.
package struct Found: Hashable, Codable, Sendable {
    package var workload: String
    package var seed: UInt64
    package var property: String
    package var sentence: String
    /// The style of the history's schedule, in a word or two.
    package var schedule: String
}
