/// A broken sentence of the contract.
package struct Breach: Hashable, Comparable, Sendable, CustomStringConvertible {
    package var rule: Property
    /// The indices of the events concerned, in their order.
    package var events: [Int]
    /// A sentence about the defect.
    package var sentence: String

    init(_ property: Property, _ events: [Int?], _ sentence: String) {
        rule = property
        self.events = events.compactMap(\.self).sorted()
        self.sentence = sentence
    }

    /// Orders the breaches of a property by their events, so that the same history gives the same list.
    package static func < (left: Breach, right: Breach) -> Bool {
        left.events == right.events
            ? left.sentence < right.sentence : left.events.lexicographicallyPrecedes(right.events)
    }

    /// The name of the sentence.
    package var property: String { rule.rawValue }

    package var description: String { "\(property): \(sentence)" }
}
