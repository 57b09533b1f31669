/// A random number generator that the operations of one request share. Each copy draws the same numbers, so the
/// operations get equal delays and are sent together again.
package struct SharedGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(using generator: inout some RandomNumberGenerator) { state = generator.next() }

    /// Returns the next number, by SplitMix64.
    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
