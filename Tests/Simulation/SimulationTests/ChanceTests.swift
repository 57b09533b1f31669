import Simulation
import Testing

@Test func `the same seed draws the same numbers`() {
    var (one, other) = (Chance(seed: 7), Chance(seed: 7))
    #expect((0..<100).allSatisfy { _ in one.next() == other.next() })
    var different = Chance(seed: 8)
    #expect(one.next() != different.next())
}
