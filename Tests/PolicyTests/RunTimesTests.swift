import Testing

@testable import Policy

/// The times of runs, and what they say.
struct RunTimesTests {
    private let now = Timestamp(rfc3339: "2026-12-05T12:00:30Z")!

    private func each(_ gap: Duration, _ count: Int, until last: Timestamp) -> [Timestamp] {
        (0..<count).map { last - gap * $0 }
    }

    private func ring(_ times: [Timestamp]) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: RunTimes.slots * RunTimes.slotLength)
        for time in times {
            let start = RunTimes.slot(of: time) * RunTimes.slotLength
            bytes.replaceSubrange(start..<start + RunTimes.slotLength, with: RunTimes.bytes(of: time)!)
        }
        return bytes
    }

    @Test func `the ring gives back the times of a day, and a daily run has its last two`() {
        let minutes = each(.seconds(60), 1440, until: now).sorted().map {
            Timestamp(microseconds: $0.microseconds / 1_000_000 * 1_000_000)
        }
        #expect(RunTimes(ring(minutes)) == RunTimes(minutes))
        #expect(RunTimes(ring(each(.seconds(86_400), 2, until: now))).times.count == 2)
        let none = RunTimes([UInt8]())
        #expect(none.times.isEmpty && !none.isDamaged)
    }

    @Test(arguments: [
        "1", "179624643x\n", "1796246430\n\n", "version 2\n\u{0}",
        "\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}1",
        // The time of another slot.
        "1796246430\n",
    ])
    func `bytes that are no time of their slot are damage`(text: String) {
        let times = RunTimes(Array(text.utf8))
        #expect(times.isDamaged && times.times.isEmpty)
    }

    @Test(arguments: [
        (60, 1440, 60), (60, 10, 60), (60, 2, 60), (3600, 24, 3600), (86_400, 3, 86_400), (86_400, 2, nil),
        (86_401, 1, nil),
        (60, 0, nil),
    ])
    func `the usual interval is the median of the last day`(gap: Int, count: Int, interval: Int?) {
        let times = RunTimes(each(.seconds(gap), count, until: now))
        #expect(times.interval(at: now) == interval.map { .seconds($0) })
    }

    @Test func `a night without runs does not change the usual interval`() {
        let evening = each(.seconds(60), 100, until: now - .seconds(40_000))
        #expect(RunTimes(evening + each(.seconds(60), 5, until: now)).interval(at: now) == .seconds(60))
    }

    /// One run came with a clock that was wrong by this time, among as many others each minute.
    @Test(arguments: [(72_000, 1, nil), (-72_000, 1, nil), (72_000, 2, 60), (-72_000, 2, 60), (-72_000, 60, 60)])
    func `a clock that was wrong once makes no usual interval`(wrong: Int, count: Int, interval: Int?) {
        let times = RunTimes([now + .seconds(wrong)] + each(.seconds(60), count, until: now))
        #expect(times.interval(at: now) == interval.map { .seconds($0) } && !times.areMissing(at: now))
    }

    @Test(arguments: [(60, 900, false), (60, 901, true), (600, 3000, false), (600, 3001, true)])
    func `runs are missing after five usual intervals, and not before a quarter of an hour`(
        gap: Int, silence: Int, missing: Bool
    ) {
        let times = RunTimes(each(.seconds(gap), 20, until: now - .seconds(silence)))
        #expect(times.areMissing(at: now) == missing)
        #expect(times.gaps(before: now).count == (missing ? 2 : 1))
    }

    @Test func `a time ahead of the clock is no run, but for a minute`() {
        #expect(RunTimes([now + .seconds(3600)]).last(at: now) == nil)
        #expect(RunTimes([now + .seconds(59)]).last(at: now) == now)
        #expect(RunTimes([now - .seconds(5), now + .seconds(3600)]).last(at: now) == now - .seconds(5))
    }
}
