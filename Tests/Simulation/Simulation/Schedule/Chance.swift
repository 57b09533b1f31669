/// The chance of a history: the same numbers for the same seed (SplitMix64, Steele 2014).
package struct Chance: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) {
        state = seed
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Returns a generator whose numbers do not depend on later draws from this generator.
    package mutating func branch() -> Chance { Chance(seed: next()) }

    /// Returns a number below `bound`; `bound` is positive. The slight bias towards small numbers does not matter here;
    /// unlike the standard library's, the count of draws is always one.
    package mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

    /// Returns whether an event of the given probability occurs.
    package mutating func happens(_ probability: Double) -> Bool {
        Double(next() >> 11) < probability * Double(1 << 53)
    }

    /// Returns an element; the collection is not empty.
    package mutating func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }

    /// Returns a time between two bounds, in whole microseconds.
    package mutating func duration(_ low: Duration, _ high: Duration) -> Duration {
        let (low, high) = (low.microseconds, high.microseconds)
        return .microseconds(low + Int64(below(max(1, Int(high - low)))))
    }
}

extension Duration {
    var microseconds: Int64 {
        Int64(attoseconds / 1_000_000_000_000)
    }
}
