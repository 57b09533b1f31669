import Foundation
import Spool
import Testing

@testable import Drain
@testable import DrainqCLI
@testable import Policy

struct QueuePageTests {
    private static let now = Timestamp(rfc3339: "2026-11-26T04:00:07Z")!

    private func row(
        _ name: String, _ state: DestinationState = DestinationState(), _ operations: [ShownState: Int] = [:]
    ) -> QueueCount.DestinationCount {
        var row = QueueCount.DestinationCount(Destination(named: name), state, .available(atOnce: 1))
        row.operations = operations
        return row
    }

    private static func time(_ text: String) -> Timestamp { Timestamp(rfc3339: "2026-11-\(text)Z")! }

    private static var held: DestinationState {
        DestinationState {
            $0.hold = .init(
                reason: "401", since: time("26T03:01:00"), status: 401,
                cause: Cause(status: 401, words: "<b>token</b> expired & gone"))
            $0.lastSuccess = time("26T02:59:00")
        }
    }

    private static func down(_ cause: Cause = Cause(status: 503, words: "busy")) -> DestinationState {
        DestinationState {
            $0.incident = Incident(since: time("26T02:13:00"), last: time("26T03:59:00"), cause: cause, attempts: 31)
        }
    }

    private func page(
        _ rows: [QueueCount.DestinationCount], _ counts: [DayLog.HalfHours] = [], _ changes: [LogEvent] = []
    ) -> String {
        let status = QueueStatus(of: rows, at: Self.now, queue: "/var/spool/drainq/orders")
        return QueuePage(of: status, at: Self.now, rows: counts, changes: changes).html
    }

    private func page(_ changes: [LogEvent] = []) -> String {
        page(
            [
                row("quiet", DestinationState(lastSuccess: Self.time("26T03:00:00"))),
                row("https://api.example.com", Self.down(), [.deferred: 4280]), row("crm", Self.held, [.held: 418]),
            ], [], changes)
    }

    @Test func `title, sentence, band and icon say the same, and the parts have who acts, why and what to type`() {
        let page = page()
        let sentence = "2 of 3 destinations are in trouble: crm is held and https://api.example.com is down."
        for part in [
            "<title>✕ 2 of 3 in trouble · orders</title>", "fill='%23fff'%3E✕", "<header class=\"band bad\">", sentence,
            "crm needs a person. https://api.example.com needs its server; drainq goes on trying.",
            "<b>503</b>, the server is not available: <q>busy</q>",
            "drainq release --destination crm --queue /var/spool/drainq/orders",
            "drainq run --now --destination https://api.example.com --queue /var/spool/drainq/orders",
            "If your clock is past 04:03, no run has come since, or this is an old copy.",
        ] { #expect(page.contains(part), "\(part)") }
        let order = ["<h1", "<b>crm</b>", "<b>https://api.example.com</b>", "<b>quiet</b>"]
        #expect(
            order.compactMap { page.range(of: $0)?.lowerBound }
                == order.compactMap { page.range(of: $0)?.lowerBound }.sorted())
    }

    @Test func `the page of a full queue says what is refused`() {
        var status = QueueStatus(of: [], at: Self.now, queue: "/var/spool/drainq/orders")
        status.health.fullLimit = .bytes(1_000_000_000)
        let html = QueuePage(of: status, at: Self.now, rows: [], changes: []).html
        #expect(html.contains("The queue is full (limits.bytes 1GB): adds are refused.</h1>"))
        #expect(html.contains("Adds are refused</h2>"))
    }

    @Test func `foreign text is escaped`() {
        let hostile = #"</title><script>alert(1)</script>" onload="x' & \u{202E}\u{1B}[31m"#
        var event = LogEvent(.failed, at: Self.now, destination: hostile)
        (event.cause, event.count, event.ids, event.user) = (hostile, 1, [hostile], hostile)
        let html = page([row(hostile, Self.down(Cause(status: 500, words: hostile)), [.new: 1])], [], [event])
        #expect(!html.contains("<script") && !html.contains("\" onload") && !html.contains("\u{1B}"))
        #expect(!html.contains("\u{202E}") && html.contains("&lt;script&gt;"))
    }

    @Test func `the page loads no external resources`() {
        let html = page()
        for text in ["<script", "<img", "@import", "http-equiv", "src=", "href=\"http"] {
            #expect(!html.contains(text), "\(text)")
        }
        #expect(html.components(separatedBy: "<link").count == 2 && html.contains("<link rel=\"icon\" href=\"data:"))
        #expect(html.utf8.count < 40_000, "\(html.utf8.count)")
    }

    @Test func `kinds of half hours differ by shape: deliveries, deferrals, failures, an outage, a hold, no runs`() {
        let half = DayLog.halfHour(Self.now)
        let counts = DayLog.HalfHours(
            destination: "quiet", counts: [[half - 40, 200, 1, 0], [half - 38, 1, 40, 2], [half - 30, 12, 0, 0]])
        var up = LogEvent(.up, at: Self.time("25T23:00:00"), destination: "quiet")
        up.since = Self.time("25T22:00:00")
        var released = LogEvent(.released, at: Self.time("26T02:00:00"), destination: "quiet")
        released.since = Self.time("26T01:00:00")
        let html = page([row("quiet", DestinationState(lastSuccess: Self.now))], [counts], [up, released])
        for part in [
            "<path class=\"ok\" d=\"M112 24v-22M262 24v-6\"/>", "<path class=\"late\" d=\"M142 24v-20\"/>",
            "<path class=\"bad\" d=\"M142 27v5\"/>", "<path class=\"down\" d=\"M525 2h30v22h-30z\"/>",
            "<path class=\"held\" d=\"M615 5h30M615 21h30\"/>", "<path class=\"none\"", "delivered (higher is more)",
            "213 delivered, 41 put off, 2 failed for good; ",
        ] { #expect(html.contains(part), "\(part)") }
        #expect(html.contains("quiet was down") && html.contains("delivered again"))
    }

    @Test func `destinations with one cause are told once, and one command helps all of them`() {
        let rows = (0..<40).map { number in
            row(
                "branch-\(number + 10)",
                number % 3 == 1 ? DestinationState(lastSuccess: Self.now) : Self.held, [.held: number % 3 == 1 ? 0 : 6])
        }
        let html = page(rows)
        #expect(html.contains("27 of 40 destinations are held for one cause: the login is refused (401)."))
        #expect(html.contains("One repair helps all 27: they need a person. 13 others are well."))
        #expect(html.components(separatedBy: "drainq release").count - 1 == 1)
        #expect(html.contains("drainq release --status 401 --queue /var/spool/drainq/orders"))
        #expect(html.utf8.count < 60_000, "\(html.utf8.count)")
    }

    @Test func `a destination that answers an error to everything delivers nothing, and is not well`() {
        let state = Self.down(Cause(status: 500, words: "ORA-01653"))
        let html = page([row("https://erp.example.com", state, [.deferred: 148])])
        for part in [
            "is in trouble: https://erp.example.com answers 500 to everything.", "delivers nothing since 02:13, 1h 47m",
            "<b>500</b>, the server fails: <q>ORA-01653</q>", "31 attempts so far", "drainq hold --destination",
        ] { #expect(html.contains(part), "\(part)") }
        #expect(!html.contains("well"))
    }

    @Test func `sums of the largest counts do not end the page`() {
        let half = DayLog.halfHour(Self.now)
        let rows = ["a", "b"].map { name in
            DayLog.HalfHours(destination: name, counts: (0..<2_000).map { _ in [half - 2, 1 << 53, 1 << 53, 1 << 53] })
        }
        let html = page([row("a"), row("b")], rows)
        #expect(html.contains("9,223,372,036,854,775,807 delivered"))
    }

    @Test func `well stands beside its evidence`() {
        let html = page([row("a", DestinationState(lastSuccess: Self.time("26T04:00:00"))), row("new")])
        for part in [
            "<title>✓ well · orders</title>", "All is well: nothing waits.",
            "Last delivery: 04:00 UTC, 7s ago. Last run: 5s ago.",
            "well, last delivery 04:00", "nothing sent yet", "<header class=\"band ok\">",
        ] { #expect(html.contains(part), "\(part)") }
    }
}
