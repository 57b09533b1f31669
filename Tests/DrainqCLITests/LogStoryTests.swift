import Policy
import Testing

@testable import DrainqCLI

/// The log in words: a line for each event, and the attempts between two events.
struct LogStoryTests {
    private static let api = "api.example.com"

    private func event(_ kind: LogEvent.Kind, _ time: String, _ destination: String? = api) -> LogEvent {
        LogEvent(kind, at: Timestamp(rfc3339: "2026-11-21T\(time)Z")!, destination: destination)
    }

    private func attempts(
        _ from: String, _ to: String, delivered: Int? = nil, deferred: Int? = nil, _ destination: String = api
    ) -> LogEvent {
        var event = event(.attempts, to, destination)
        event.since = Timestamp(rfc3339: "2026-11-21T\(from)Z")!
        (event.delivered, event.deferred) = (delivered, deferred)
        return event
    }

    private func told(_ events: [LogEvent]) -> [String] {
        var lines: [String] = []
        var story = LogStory(tellsRuns: false) { lines.append($0) }
        for event in events { story.tell(event) }
        story.flush()
        return lines
    }

    @Test func `an outage has its cause and backlog, and its end has the deliveries that follow`() {
        var down = event(.down, "02:13:04.5")
        (down.status, down.count, down.waiting, down.since) = (503, 5, 12_340, down.at)
        var up = event(.up, "03:58:40")
        up.since = Timestamp(rfc3339: "2026-11-21T02:13:04Z")
        let lines = told([
            attempts("02:12:50", "02:13:04", deferred: 5), down, attempts("02:40:00", "02:40:30", deferred: 2),
            // The minute of the end counts as a whole, and its line may precede or follow the end.
            attempts("03:58:10", "03:58:39", delivered: 40, deferred: 1), up,
            attempts("03:59:00", "03:59:59", delivered: 6_000), attempts("04:00:00", "04:02:50", delivered: 6_300),
        ])
        #expect(
            lines == [
                "2026-11-21 (UTC)", "02:13:04  api.example.com: 5 deferred in 14s",
                "02:13:04  api.example.com down: 503 (5 attempts in 0ms); 12,340 waiting",
                "03:58:39  api.example.com: 3 deferred in 1h 18m",
                "03:58:40  api.example.com up after 1h 45m; 12,340 delivered in 4m 10s",
            ])
    }

    @Test func `sums of the largest counts do not end the story`() {
        var deferred = event(.deferred, "04:00:00")
        (deferred.status, deferred.count) = (503, .max)
        let attempts = attempts("04:00:00", "04:00:00", delivered: .max, deferred: .max)
        let lines = told([attempts, deferred, attempts, deferred])
        let most = "9,223,372,036,854,775,807"
        #expect(lines.dropFirst() == ["04:00:00  api.example.com: \(most) delivered, \(most) deferred: 503"])
    }

    @Test func `the end of an outage is told alone if an event of another destination follows`() {
        var held = event(.held, "04:01:00", "crm")
        (held.status, held.cause, held.waiting) = (401, "token expired", 1)
        let lines = told([
            event(.up, "04:00:00"), attempts("04:00:10", "04:00:20", delivered: 5, "other"), held,
            attempts("04:02:00", "04:02:00", delivered: 1),
        ])
        #expect(
            lines.dropFirst() == [
                "04:00:00  api.example.com up", "04:00:20  other: 5 delivered in 10s",
                "04:01:00  crm held: 401 \"token expired\"; 1 waiting", "04:02:00  api.example.com: 1 delivered",
            ])
    }

    @Test func `a change between a deferral's cause and its count takes neither away`() {
        var deferred = event(.deferred, "02:00:01")
        (deferred.status, deferred.cause, deferred.count) = (503, "busy", 1)
        var failed = event(.failed, "02:00:01")
        (failed.status, failed.cause, failed.count) = (422, "bad", 1)
        let lines = told([deferred, failed, attempts("02:00:01", "02:00:01", delivered: 3, deferred: 1)])
        #expect(lines.last == "02:00:01  api.example.com: 3 delivered, 1 deferred: 503 \"busy\"", "\(lines)")
    }

    @Test func `deferrals have their causes, the most frequent first, and a gap of runs is a line`() {
        func deferred(_ time: String, _ status: Int, _ words: String?, _ count: Int) -> LogEvent {
            var deferred = event(.deferred, time)
            (deferred.status, deferred.cause, deferred.count) = (status, words, count)
            return deferred
        }
        var gap = event(.gap, "12:00:00", nil)
        gap.since = Timestamp(rfc3339: "2026-11-21T08:00:00Z")
        let lines = told([
            attempts("03:00:00", "03:00:30", deferred: 5), deferred("03:00:10", 503, nil, 2),
            deferred("03:00:20", 500, "no room for 17", 3), attempts("03:01:00", "03:01:30", deferred: 4),
            deferred("03:01:10", 500, "no room for 18", 4), gap, attempts("12:00:01", "12:00:01", delivered: 1),
        ])
        #expect(
            lines.dropFirst() == [
                "03:01:30  api.example.com: 9 deferred in 1m 30s: 500 \"no room for 17\" (7), 503 (2)",
                "12:00:00  no run came for 4h", "12:00:01  api.example.com: 1 delivered",
            ])
        var timeout = event(.deferred, "13:00:00")
        (timeout.error, timeout.cause, timeout.count) = ("timeout", "no answer in 30s", 3)
        let both = [attempts("13:00:00", "13:00:00", deferred: 5), timeout, deferred("13:00:00", 503, nil, 2)]
        #expect(told(both).last == "13:00:00  api.example.com: 5 deferred: timeout (3), 503 (2)")
        #expect(told(Array(both.prefix(2))).last == "13:00:00  api.example.com: 5 deferred: timeout: no answer in 30s")
    }

    @Test(arguments: [
        (0, "0"), (999, "999"), (1000, "1,000"), (-12_345, "-12,345"), (1_000_000, "1,000,000"),
        (.min, "-9,223,372,036,854,775,808"),
    ])
    func `thousands have commas`(number: Int, words: String) { #expect(InWords.grouped(number) == words) }
}
