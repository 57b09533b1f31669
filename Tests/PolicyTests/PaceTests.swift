import Testing

@testable import Policy

struct PaceTests {
    @Test func `without an interval, all attempts may begin at once`() {
        var pace = Pace(interval: nil)
        for _ in 0..<3 {
            #expect(pace.wait(at: .seconds(1)) == .zero)
            pace = pace.begun(at: .seconds(1))
        }
    }

    @Test func `the first attempt may begin at once, and each further attempt an interval later`() {
        var pace = Pace(interval: .milliseconds(50))
        #expect(pace.wait(at: .seconds(7)) == .zero)
        pace = pace.begun(at: .seconds(7))
        #expect(pace.wait(at: .seconds(7)) == .milliseconds(50))
        #expect(pace.wait(at: .milliseconds(7030)) == .milliseconds(20))
        #expect(pace.wait(at: .milliseconds(7050)) == .zero)
    }

    @Test func `an early attempt counts from its due time, and a late attempt from its actual time`() {
        var pace = Pace(interval: .milliseconds(100))
        pace = pace.begun(at: .zero)
        pace = pace.begun(at: .milliseconds(20))
        #expect(pace.wait(at: .milliseconds(20)) == .milliseconds(180))
        pace = pace.begun(at: .milliseconds(250))
        #expect(pace.wait(at: .milliseconds(250)) == .milliseconds(100))
    }

    @Test func `after a quiet time there is no burst`() {
        var pace = Pace(interval: .seconds(1))
        pace = pace.begun(at: .zero)
        pace = pace.begun(at: .seconds(60))
        #expect(pace.wait(at: .seconds(60)) == .seconds(1))
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `attempts never begin faster than the rate allows`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let rate = Rate(count: Int.random(in: 1...50, using: &generator), per: .seconds(1))
        var pace = Pace(interval: rate.interval)
        var now = Duration.zero
        var began: [Duration] = []
        for _ in 0..<200 {
            now += max(pace.wait(at: now), .milliseconds(Int.random(in: 0...60, using: &generator)))
            if pace.wait(at: now) > .zero { continue }
            pace = pace.begun(at: now)
            began.append(now)
        }
        for (first, later) in zip(began, began.dropFirst()) { #expect(later - first >= rate.interval) }
        #expect(began.count > 1)
    }

    @Test func `a rate is spread evenly over its time`() {
        #expect(Rate(count: 20, per: .seconds(1)).interval == .milliseconds(50))
        #expect(Rate(count: 90, per: .seconds(60)).interval == .seconds(60) / 90)
    }
}
