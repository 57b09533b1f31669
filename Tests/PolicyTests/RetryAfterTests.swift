import Policy
import Testing

struct RetryAfterTests {
    static let now = Timestamp(rfc3339: "1994-11-06T08:49:37Z")!

    @Test(arguments: [
        ("0", 0), ("1", 1), ("120", 120), (" 120\t", 120), ("007", 7), ("86400", 86_400), ("86401", 86_400),
        ("9223372036854775807", 86_400), ("9223372036854775808", 86_400),
        (String(repeating: "9", count: 10_000), 86_400),
        ("Sun, 06 Nov 1994 08:50:37 GMT", 60), ("Sunday, 06-Nov-94 08:50:37 GMT", 60), ("Sun Nov  6 08:50:37 1994", 60),
        ("Sun Nov 06 08:50:37 1994", 60), ("Sun, 06 Nov 1994 08:49:37 GMT", 0), ("Sat, 05 Nov 1994 08:49:37 GMT", 0),
        ("Wed, 31 Dec 9999 23:59:59 GMT", 86_400), ("Sat, 31 Dec 1994 23:59:60 GMT", 86_400),
        ("Friday, 06-Nov-43 08:49:37 GMT", 86_400), ("Monday, 06-Nov-45 08:49:37 GMT", 0),
        ("Wednesday, 06-Nov-68 08:49:37 GMT", 0),
    ])
    func `seconds and dates are read, and cut to the cap`(value: String, seconds: Int) {
        #expect(RetryAfter.parse(value, now: Self.now) == .seconds(seconds))
    }

    @Test(arguments: [
        "", " ", "-1", "+1", "1.", ".5", "1.5.2", "1.-5", "1e3", "1 2", "0x10", "soon", "１２",
        "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37 +0000", "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 06 nov 1994 08:49:37 GMT", "Xyz, 06 Nov 1994 08:49:37 GMT", "Sun, 31 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:49 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
        "Sun, 06 Nov 1994 08:49:-1 GMT", "Sun, 06 Nov 94 08:49:37 GMT", "Sunday, 06-Nov-1994 08:49:37 GMT",
        "Sunday, 06 Nov 94 08:49:37 GMT", "Sun, 06-Nov-94 08:49:37 GMT", "Sunday, 06-Nov 08:49:37 GMT",
        "Sun Nov  6 08:49:37 94", "1994-11-06T08:49:37Z", "120, 120",
    ])
    func `an invalid value is ignored`(value: String) {
        #expect(RetryAfter.parse(value, now: Self.now) == nil)
    }

    @Test(arguments: [
        ("2.0", 2_000), ("0.25", 250), (" 2.50\t", 2_500), ("0.0", 0), ("86400.5", 86_400_000),
        ("1." + String(repeating: "0", count: 10_000), 1_000),
    ])
    func `seconds may have a fraction`(value: String, milliseconds: Int) {
        #expect(RetryAfter.parse(value, now: Self.now) == .milliseconds(milliseconds))
    }

    @Test func `the jitter fills its whole range evenly, and never shortens the wait`() {
        for (asked, most) in [(Duration.seconds(10), 2.0), (.seconds(7200), 300), (RetryAfter.longest, 300)] {
            var chance = SeededGenerator(seed: 5)
            var parts = [Int](repeating: 0, count: 10)
            for _ in 0..<10_000 {
                let added = (RetryAfter.spread(asked, using: &chance) - asked) / .seconds(1)
                #expect(added >= 0 && added <= most)
                parts[min(9, Int(added / most * 10))] += 1
            }
            #expect(parts.allSatisfy { (800...1200).contains($0) }, "\(asked): \(parts)")
        }
    }

    @Test(
        arguments: [
            ("100, 100", 100), ("100,100 , 100", 100),
            ("Wed, 21 Oct 2015 07:28:00 GMT, Wed, 21 Oct 2015 07:28:00 GMT", 60), ("100, 200", 200), ("200,100", 200),
            ("2, soon", 2), ("soon, 2.0", 2), ("soon, later", nil),
            ("100, Wed, 21 Oct 2015 07:28:00 GMT", 100), ("Wed, 21 Oct 2015 07:28:00 GMT, 30", 60),
            ("Wednesday, 21-Oct-15 07:28:00 GMT, 3", 60), ("Wed Oct 21 07:28:00 2015, 90", 90),
        ] as [(String, Int?)])
    func `the later of several values counts, joined or separate`(value: String, seconds: Int?) {
        let date = HeaderField(name: "Date", value: "Wed, 21 Oct 2015 07:27:00 GMT")
        let joined = AttemptReport.Answer(status: 503, headers: [date, HeaderField(name: "Retry-After", value: value)])
        #expect(RetryAfter.asked(by: joined, now: Timestamp(microseconds: 0)) == seconds.map { .seconds($0) })
        let fields = ["7", "x", "9", "8"].map { HeaderField(name: "retry-after", value: $0) }
        let apart = AttemptReport.Answer(status: 503, headers: fields)
        #expect(RetryAfter.asked(by: apart, now: Timestamp(microseconds: 0)) == .seconds(9))
    }

    @Test func `a date is relative to the answer's Date header`() {
        let wrongClock = "Mon, 01 Jan 2001 00:00:00 GMT"
        let answer = AttemptReport.Answer(
            status: 503,
            headers: [
                HeaderField(name: "date", value: wrongClock),
                HeaderField(name: "RETRY-AFTER", value: "Mon, 01 Jan 2001 00:00:30 GMT"),
            ])
        #expect(RetryAfter.asked(by: answer, now: Self.now) == .seconds(30))
        #expect(RetryAfter.asked(by: AttemptReport.Answer(status: 503), now: Self.now) == nil)
        #expect(
            RetryAfter.parse("Sun, 06 Nov 1994 08:50:37 GMT", date: "not a date", now: Self.now) == .seconds(60))
    }
}
