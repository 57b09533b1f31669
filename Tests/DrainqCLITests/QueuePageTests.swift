import Drain
import Foundation
import Testing

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

    private func status(_ rows: [QueueCount.DestinationCount], holds: [QueueStatus.Hold] = []) -> QueueStatus {
        var status = QueueStatus(at: Self.now, queue: "/var/spool/drainq/orders", paused: false)
        status.destinations = rows
        status.holds = holds
        let troubles = DestinationTrouble.all(of: status)
        status.verdict = DestinationTrouble.verdict(troubles, of: status, at: Self.now)
        return status
    }

    private static let held = QueueStatus.Hold(
        destination: "crm",
        hold: .init(
            reason: "401: <b>token</b> expired & gone", since: Timestamp(rfc3339: "2026-11-26T03:01:00Z")!),
        nextProbe: Timestamp(rfc3339: "2026-11-26T04:01:00Z")!, operations: 418)

    private func page(_ events: [LogEvent] = []) -> String {
        let outage = DestinationState(
            failures: 31, downSince: Timestamp(rfc3339: "2026-11-26T02:13:00Z"), lastFailure: "503")
        var down = row("https://api.example.com", outage, [.deferred: 4280])
        down.countsByAge = ["5m": 120, "1h": 4160]
        var page = QueuePage(
            of: status([row("quiet"), down, row("crm", DestinationState(), [.held: 418])], holds: [Self.held]),
            at: Self.now)
        events.forEach { page.add($0) }
        return page.html
    }

    @Test func `the title and the heading name the troubles, a hold before an outage`() {
        let page = page()
        #expect(page.contains("<title>2 of 3 in trouble: orders</title>"))
        let order = ["<h1", "crm held for 59m", "https://api.example.com down for 1h 47m", "</h1>"]
        var rest = page[...]
        for text in order {
            let range = rest.range(of: text)
            #expect(range != nil, "\(text)")
            rest = range.map { rest[$0.upperBound...] } ?? rest
        }
        #expect(page.contains("120 under 5m, 4,160 under 1h"))
        #expect(page.contains("drainq release --destination crm"))
    }

    @Test func `foreign text is escaped`() {
        let hostile = #"</title><script>alert(1)</script>" onload="x' & \u{202E}\u{1B}[31m"#
        var event = LogEvent(.failed, at: Self.now, destination: hostile)
        (event.cause, event.count, event.ids) = (hostile, 1, [hostile])
        var page = QueuePage(
            of: status([row(hostile, DestinationState(failures: 1, lastFailure: hostile))]), at: Self.now)
        page.add(event)
        let html = page.html
        #expect(!html.contains("<script") && !html.contains("\" onload") && !html.contains("\u{1B}"))
        #expect(!html.contains("\u{202E}") && html.contains("&lt;script&gt;"))
    }

    @Test func `the page loads no external resources`() {
        let html = page()
        for text in ["<script", "<link", "<img", "@import", "url(", "http-equiv", "src="] {
            #expect(!html.contains(text))
        }
        #expect(html.utf8.count < 60_000, "\(html.utf8.count)")
    }

    @Test func `a bar is a quarter of an hour of deliveries, of an outage or of a hold`() {
        var delivered = LogEvent(.attempts, at: Timestamp(rfc3339: "2026-11-26T01:50:00Z")!, destination: "quiet")
        (delivered.since, delivered.delivered) = (delivered.at, 212)
        var up = LogEvent(.up, at: Timestamp(rfc3339: "2026-11-25T12:00:00Z")!, destination: "quiet")
        up.since = Timestamp(rfc3339: "2026-11-25T11:00:00Z")!
        let html = page([delivered, up])
        #expect(html.contains("01:45 212 delivered</title>"))
        #expect(html.components(separatedBy: "<rect class=\"down\"").count - 1 == 8 + 5)
        #expect(html.components(separatedBy: "<rect class=\"held\"").count - 1 == 4)
        #expect(html.contains("212</b>") || html.contains("<b>212</b> delivered in 24 h"))
    }

    @Test func `all destinations in trouble and ten more have cards, and the rest have rows`() {
        let rows = (0..<300).map { number in
            let outage = DestinationState(failures: 5, lastFailure: "timeout")
            return row("d\(number)", number < 25 ? outage : DestinationState(), [.new: number])
        }
        let html = QueuePage(of: status(rows), at: Self.now).html
        #expect(html.components(separatedBy: "class=\"card ").count - 1 == 35)
        #expect(html.components(separatedBy: "<th scope=\"row\">").count - 1 == 200)
        #expect(html.contains("and 65 more"))
    }

    @Test func `the page of a queue without trouble says all is well`() {
        let html = QueuePage(
            of: status([row("a", DestinationState(lastSuccess: Timestamp(rfc3339: "2026-11-26T04:00:00Z")!))]),
            at: Self.now
        ).html
        #expect(
            html.contains("<title>all is well: orders</title>") && html.contains("<h1 class=\"well\">all is well</h1>"))
    }
}
