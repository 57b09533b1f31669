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
        "", " ", "-1", "+1", "1.5", "1e3", "1 2", "0x10", "soon", "１２", "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37 +0000", "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 06 nov 1994 08:49:37 GMT", "Xyz, 06 Nov 1994 08:49:37 GMT", "Sun, 31 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:49 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
        "Sun, 06 Nov 1994 08:49:-1 GMT", "Sun, 06 Nov 94 08:49:37 GMT", "Sunday, 06-Nov-1994 08:49:37 GMT",
        "Sunday, 06 Nov 94 08:49:37 GMT", "Sun, 06-Nov-94 08:49:37 GMT", "Sunday, 06-Nov 08:49:37 GMT",
        "Sun Nov  6 08:49:37 94", "1994-11-06T08:49:37Z", "Sun, 06 Nov 1994 08:49:37 GMT, 120",
    ])
    func `anything else asks for nothing`(value: String) {
        #expect(RetryAfter.parse(value, now: Self.now) == nil)
    }

    @Test(
        arguments: [
            ("100, 100", 100), ("100,100 , 100", 100),
            ("Wed, 21 Oct 2015 07:28:00 GMT, Wed, 21 Oct 2015 07:28:00 GMT", 60), ("100, 200", nil),
            ("100, Wed, 21 Oct 2015 07:28:00 GMT", nil),
        ] as [(String, Int?)])
    func `equal values count as one, whether they are joined or not`(value: String, seconds: Int?) {
        let date = HeaderField(name: "Date", value: "Wed, 21 Oct 2015 07:27:00 GMT")
        let joined = AttemptReport.Answer(status: 503, headers: [date, HeaderField(name: "Retry-After", value: value)])
        #expect(RetryAfter.asked(by: joined, now: Timestamp(microseconds: 0)) == seconds.map { .seconds($0) })
        let twice = HeaderField(name: "Retry-After", value: "7")
        let apart = AttemptReport.Answer(status: 503, headers: [twice, twice])
        #expect(RetryAfter.asked(by: apart, now: Timestamp(microseconds: 0)) == .seconds(7))
    }

    @Test func `a date is taken against the answer's own clock`() {
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
