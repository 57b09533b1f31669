import DrainqCLI
import Policy
import Testing

struct PointInTimeTests {
    @Test(arguments: [
        ("now", 0), ("+5m", 300), ("2026-11-21T12:00:00Z", 0), ("2026-11-21T13:00:01+01:00", 1),
        ("2026-11-21", -43_200), ("2026-11-22t00:00:00z", 43_200),
    ])
    func `a time is a moment or a distance from now`(text: String, seconds: Int) {
        for direction in [PointInTime.Direction.past, .future] {
            let time = PointInTime(quantity: text, direction: direction)
            #expect(time?.timestamp(now: Self.noon) == Self.noon + .seconds(seconds))
        }
    }

    @Test func `only a time that may be past is written as a distance before now`() {
        #expect(PointInTime(quantity: "-2h", direction: .past) == .after(.seconds(-7200)))
        #expect(PointInTime(quantity: "-2h", direction: .future) == nil)
    }

    @Test func `a distance without a sign has the direction of the option`() {
        #expect(PointInTime(quantity: "2h", direction: .past) == .after(.seconds(-7200)))
        #expect(PointInTime(quantity: "2h", direction: .future) == .after(.seconds(7200)))
    }

    @Test(arguments: ["", "5", "tomorrow", "--5m", "2026-11-21T12:00:00", "2026-13-01", "12:00", "now+5m"])
    func `an invalid time is refused`(text: String) {
        #expect(PointInTime(quantity: text, direction: .future) == nil)
    }

    private static let noon = Timestamp(microseconds: 1_795_262_400_000_000)
}
