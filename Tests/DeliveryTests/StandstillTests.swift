import Testing

@testable import Delivery

struct StandstillTests {
    @Test(arguments: [
        (Duration.seconds(4), Duration.seconds(4), Duration.zero), (.seconds(4), .milliseconds(4_400), .zero),
        (.seconds(4), .seconds(10), .seconds(10)), (.zero, .milliseconds(20), .zero),
        (.seconds(-3), .seconds(2), .seconds(2)),
    ])
    func `deadlines move by a wait that ended much later than planned`(
        planned: Duration, actual: Duration, moved: Duration
    ) {
        #expect(Standstill.duration(of: actual, planned: planned) == moved)
    }
}
