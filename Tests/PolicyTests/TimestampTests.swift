import Testing

@testable import Policy

struct TimestampTests {
    @Test(
        arguments: [
            ("1970-01-01T00:00:00Z", 0),
            ("2026-11-21T09:15:00.123456Z", 1_795_252_500_123_456),
            ("2026-11-21t09:15:00.123456z", 1_795_252_500_123_456),
            ("2026-11-21T10:15:00.123456+01:00", 1_795_252_500_123_456),
            ("2026-11-21T03:45:00.123456-05:30", 1_795_252_500_123_456),
            ("2026-11-21T09:15:00.1234569Z", 1_795_252_500_123_456),
            ("2026-11-21T09:15:00.1Z", 1_795_252_500_100_000),
            ("2026-11-21T09:15:00-00:00", 1_795_252_500_000_000),
            ("1969-12-31T23:59:59.999999Z", -1),
            ("0000-01-01T00:00:00Z", -62_167_219_200_000_000),
            ("9999-12-31T23:59:59.999999Z", 253_402_300_799_999_999),
            ("2016-12-31T23:59:60Z", 1_483_228_799_000_000),
            ("2000-02-29T00:00:00Z", 951_782_400_000_000),
        ] as [(String, Int64)])
    func `an RFC 3339 time is read to the microsecond`(text: String, microseconds: Int64) {
        #expect(Timestamp(rfc3339: text)?.microseconds == microseconds)
    }

    @Test(arguments: [
        "", "2026", "2026-11-21", "2026-11-21T09:15:00", "2026-11-21 09:15:00Z", "2026-11-21T09:15Z",
        "2026-11-21T09:15:00.Z", "2026-11-21T09:15:00,5Z", "2026-11-21T24:00:00Z", "2026-11-21T09:60:00Z",
        "2026-11-21T09:15:61Z", "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-11-31T00:00:00Z",
        "2026-11-21T09:15:00+24:00", "2026-11-21T09:15:00+01:60", "2026-11-21T09:15:00+0100",
        "2026-11-21T09:15:00+01", "2026-11-21T09:15:00ZZ", "2026-11-21T09:15:00Z ", " 2026-11-21T09:15:00Z",
        "+2026-11-21T09:15:00Z", "2026/11/21T09:15:00Z", "2026-11-21T09.15.00Z", "2026-11-21T09:15:0xZ",
        "２026-11-21T09:15:00Z", "2026-11-21T09:15:00\u{0}", "2026-11-21T09:15:00.5", "2026-11-21T09:15:00*01:00",
    ])
    func `an invalid RFC 3339 time is refused`(text: String) {
        #expect(Timestamp(rfc3339: text) == nil)
    }

    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00Z"),
            (1_795_252_500_123_456, "2026-11-21T09:15:00.123456Z"),
            (1_795_252_500_120_000, "2026-11-21T09:15:00.120Z"),
            (1_795_252_500_000_001, "2026-11-21T09:15:00.000001Z"),
            (-1, "1969-12-31T23:59:59.999999Z"),
            (.min, "0000-01-01T00:00:00Z"),
            (.max, "9999-12-31T23:59:59.999999Z"),
        ] as [(Int64, String)])
    func `a time is written with the fewest digits needed`(microseconds: Int64, text: String) {
        #expect(Timestamp(microseconds: microseconds).rfc3339 == text)
    }

    @Test(
        arguments: [
            (0, "19700101T000000.000000Z", "19700101T000000Z"),
            (1_795_252_500_123_456, "20261121T091500.123456Z", "20261121T091500.124Z"),
            (1_795_252_500_123_000, "20261121T091500.123000Z", "20261121T091500.123Z"),
            (1_795_252_500_999_001, "20261121T091500.999001Z", "20261121T091501Z"),
            (-5, "19700101T000000.000000Z", "19700101T000000Z"),
            (.min, "19700101T000000.000000Z", "19700101T000000Z"),
            (.max, "99991231T235959.999999Z", "99991231T235959.999Z"),
        ] as [(Int64, String, String)])
    func `an entry name's times are in UTC, and a due time is rounded up`(
        microseconds: Int64, fine: String, coarse: String
    ) {
        #expect(Timestamp(microseconds: microseconds).compactMicroseconds == fine)
        #expect(Timestamp(microseconds: microseconds).compactMilliseconds == coarse)
    }

    @Test(arguments: [
        "", "Z", "20261121T091500.12Z", "20261121T091500.000Z", "20261121T091500", "20261121T0915.123456Z",
    ])
    func `an invalid time of an entry name is refused`(text: String) {
        #expect(Timestamp(compact: text) == nil)
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `a time survives a round trip through each text form`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<500 {
            let moment = Timestamp(
                microseconds: Int64.random(in: 0...Timestamp.lastInNames.microseconds, using: &generator))
            #expect(Timestamp(rfc3339: moment.rfc3339) == moment)
            #expect(Timestamp(compact: moment.compactMicroseconds) == moment)
            let coarse = Timestamp(microseconds: moment.microseconds / 1000 * 1000)
            #expect(Timestamp(compact: coarse.compactMilliseconds) == coarse)
            #expect(coarse.roundedUpToMilliseconds == coarse)
        }
    }

    @Test func `every day of four centuries follows the previous day`() {
        var moment = Timestamp(rfc3339: "1900-01-01T12:00:00Z")!
        var last = moment.rfc3339
        for _ in 0..<146_097 {
            moment = moment + .seconds(86_400)
            let text = moment.rfc3339
            if text <= last || Timestamp(rfc3339: text) != moment { Issue.record("\(last) then \(text)") }
            last = text
        }
        #expect(last == "2300-01-01T12:00:00Z")
    }

    @Test func `sums and differences stop at the ends of the range`() {
        let end = Timestamp(microseconds: .max)
        let start = Timestamp(microseconds: .min)
        #expect(end + .seconds(1) == end)
        #expect(start - .seconds(1) == start)
        #expect(end + .seconds(Int64.max) == end)
        #expect(start + .seconds(Int64.min) == start)
        #expect(end - start == .microseconds(Int64.max))
        #expect(start - end == .microseconds(Int64.min))
        #expect(Timestamp(microseconds: 5) - Timestamp(microseconds: 2) == .microseconds(3))
        #expect(Duration.milliseconds(1500).inSeconds == 1.5)
        let carried = Duration.seconds(9_223_372_036_854) + .microseconds(999_999)
        #expect(carried.wholeMicroseconds == .max)
        #expect((.zero - carried).wholeMicroseconds == .min)
        #expect(end.roundedUpToMilliseconds == end)
        #expect(Timestamp(microseconds: -1500).roundedUpToMilliseconds.microseconds == -1000)
    }
}

extension Timestamp {
    /// `YYYYMMDDThhmmss[.mmm]Z`, as in the name of a deferred operation.
    var compactMilliseconds: String {
        String(unsafeUninitializedCapacity: 24) { buffer in
            var writer = NameWriter(buffer)
            writer.writeCompactMilliseconds(self)
            return writer.count
        }
    }
}
