import Foundation
import Testing

@testable import Drain
@testable import DrainqCLI
@testable import Policy

/// The exposition for Prometheus, and the counters that runs add up.
struct MetricsTests {
    private let now = Timestamp(rfc3339: "2026-11-21T12:00:00.25Z")!
    private let odd = "a\\b\"c\nd{e=\"f\"},#"

    private func row(
        _ name: String, _ state: DestinationState = DestinationState(), _ operations: [ShownState: Int] = [:]
    ) -> QueueCount.DestinationCount {
        var row = QueueCount.DestinationCount(
            Destination(named: name), state, state.availability(DestinationSettings(), at: now))
        row.operations = operations
        return row
    }

    private func status(_ rows: [QueueCount.DestinationCount]) -> QueueStatus {
        var status = QueueStatus(of: rows, at: now)
        for state in ShownState.allCases { status.health.states[state] = 0 }
        return status
    }

    @Test func `the exposition of an empty queue is valid, with zero counts`() throws {
        let parsed = try ParsedExposition(Exposition(of: status([]), Counters()).text)
        #expect(parsed.value("drainq_due_operations") == 0)
        #expect(parsed.value("drainq_paused") == 0)
        #expect(parsed.value("drainq_operations", ["state": "new", "destination": ""]) == 0)
        #expect(parsed.families["drainq_attempts_total"]?.samples.isEmpty == true)
    }

    @Test func `the exposition has every family of the table, in order, with help, type and labels`() throws {
        var view = status([
            row(
                "https://a.example",
                DestinationState(
                    failures: 1, downSince: now - .seconds(900), lastSuccess: now,
                    incident: Incident(since: now - .seconds(900), last: now, cause: Cause())),
                [.new: 1])
        ])
        view.destinations[0].oldest = now
        view.destinations[0].next = now
        view.lastRun = try JSONDecoder().decode(SummaryView.self, from: Data(Self.summary.utf8))
        var counters = Counters()
        counters.countRun(exitStatus: 0)
        let parsed = try ParsedExposition(Exposition(of: view, counters).text)
        #expect(parsed.order == MetricFamily.table.map(\.name))
        for family in MetricFamily.table {
            let found = try #require(parsed.families[family.name])
            #expect(found.type == family.kind.rawValue && found.help == family.help)
            let labels = Set(found.samples.map { $0.labels.keys.sorted() })
            #expect(labels == [(family.labels + ["queue"]).sorted()], "\(family.name)")
        }
    }

    @Test func `metric names follow the conventions of Prometheus`() throws {
        var view = status([row("https://a.example")])
        var summary = try JSONDecoder().decode(SummaryView.self, from: Data(Self.summary.utf8))
        summary.circumstances.exitStatus = 75
        view.lastRun = summary
        let parsed = try ParsedExposition(Exposition(of: view, Counters()).text)
        for (name, family) in parsed.families {
            #expect(name.hasPrefix("drainq_"))
            #expect((family.type == "counter") == name.hasSuffix("_total"), "\(name)")
            #expect(family.help.hasSuffix("."), "\(name)")
            #expect(family.samples.allSatisfy { $0.labels["queue"] == "/q" }, "\(name)")
        }
        #expect(parsed.value("drainq_last_run_exit_status") == 75)
        #expect(parsed.value("drainq_last_run_duration_seconds") == 1.5)
        #expect(parsed.value("drainq_last_run_timestamp_seconds") == 1_795_262_395.25)
        #expect(parsed.value("drainq_run_interval_seconds") == 60)
    }

    private static let summary = """
        {"event":"summary","schema":1,"startedAt":"2026-11-21T12:00:00.25Z","durationMs":1500,"end":"done","exitStatus":0,\
        "attempts":1,"delivered":1,"deferred":0,"waiting":0,"held":0,"paused":0,"ambiguous":0,"superseded":0,"failed":0,"expired":0,\
        "quarantined":0,"recovered":0,"cutOff":0,"inputOutputErrors":0,"leftDue":0}
        """

    @Test func `destination and queue names of any characters survive the exposition`() throws {
        var counters = Counters()
        counters.count(.delivered, at: odd, now)
        var view = status([row(odd)])
        view.queue = "/a \"b\\c\""
        let parsed = try ParsedExposition(Exposition(of: view, counters).text)
        #expect(parsed.value("drainq_delivered_total", ["destination": odd]) == 1)
        #expect(parsed.families["drainq_paused"]?.samples.first?.labels == ["queue": "/a \"b\\c\""])
    }

    @Test func `sums over destinations equal the counts of the queue`() throws {
        let first = row("https://a.example", DestinationState(), [.new: 3, .held: 1, .failed: 2])
        var view = status([first, row("https://b.example")])
        view.health.states[.new] = 5
        view.health.states[.held] = 1
        view.health.states[.failed] = 2
        view.health.states[.quarantined] = 4
        let parsed = try ParsedExposition(Exposition(of: view, Counters()).text)
        let operations = try #require(parsed.families["drainq_operations"])
        for (state, count) in view.states {
            let sum = operations.samples.filter { $0.labels["state"] == state }.reduce(0) { $0 + $1.value }
            #expect(sum == Double(count), "\(state)")
        }
        #expect(parsed.value("drainq_operations", ["state": "new", "destination": "https://b.example"]) == 0)
        #expect(parsed.value("drainq_operations", ["state": "new", "destination": ""]) == 2)
    }

    @Test func `each closed destination has its reason as a label`() throws {
        let until = now + .seconds(60)
        let view = status([
            row("held", DestinationState(hold: .init(reason: "401", since: now))),
            row("paused", DestinationState(isPaused: true)),
            row("waits", DestinationState(notBefore: until)),
            row("suspended", DestinationState(failures: 5, coolDownUntil: until, coolDowns: 1)),
            row("open", DestinationState(lastSuccess: now)),
        ])
        let parsed = try ParsedExposition(Exposition(of: view, Counters()).text)
        let closed = try #require(parsed.families["drainq_destination_closed"]).samples.filter { $0.value == 1 }
        #expect(
            closed.map { "\($0.labels["destination"]!) \($0.labels["reason"]!)" }
                == ["held held", "paused paused", "waits retry-after", "suspended circuit-breaker"])
        #expect(
            parsed.value("drainq_last_success_timestamp_seconds", ["destination": "open"]) == 1_795_262_400.25)
        #expect(parsed.value("drainq_last_success_timestamp_seconds", ["destination": "held"]) == nil)
    }

    @Test func `the thousand destinations with the most operations have a name`() throws {
        let rows = (0..<1100).map { row("https://\($0).example", DestinationState(), [.new: $0]) }
        var view = status(rows)
        view.health.states[.new] = rows.reduce(0) { $0 + $1.waiting }
        let parsed = try ParsedExposition(Exposition(of: view, Counters()).text)
        #expect(parsed.value("drainq_operations", ["state": "new", "destination": "https://99.example"]) == nil)
        #expect(parsed.value("drainq_operations", ["state": "new", "destination": "https://100.example"]) == 100)
        #expect(parsed.value("drainq_operations", ["state": "new", "destination": ""]) == 4950)
    }

    @Test func `a label is escaped byte by byte, even before combining characters`() {
        let name = "a\"\u{301}b\r\nc\\\u{301}"
        let text = Exposition(of: status([row(name)]), Counters()).text
        let label = "destination=\"a\\\"\u{301}b\r\\nc\\\\\u{301}\"}"
        #expect(text.range(of: label, options: .literal) != nil)
        #expect(!text.utf8.split(separator: 10).contains { !$0.starts(with: "#".utf8) && $0.last == 13 })
    }

    @Test func `a counter has the value 0 before its first count`() throws {
        let parsed = try ParsedExposition(Exposition(of: status([row("https://a.example")]), Counters()).text)
        for count in Counters.Count.allCases {
            #expect(parsed.value("drainq_\(count)_total", ["destination": "https://a.example"]) == 0)
        }
    }

    @Test(arguments: [
        "x 1\n", "# HELP x h\n# TYPE x gauge\nx{} 1", "# HELP x h\nx{a=\"b\"} 1\n",
        "# HELP x h\n# TYPE x gauge\nx{a=\"b\"} 1\nx{a=\"b\"} 2\n", "# HELP x h\n# TYPE x gauge\nx{a=\"b\\c\"} 1\n",
        "# HELP x h\n# TYPE x gauge\nx{a=\"b\",} 1\n", "# HELP x h\n# TYPE x gauge\nx{a=\"b\"} one\n",
        "# HELP x h\n# TYPE x gauge\n# HELP x h\n", "# HELP x h\\q\n# TYPE x gauge\n",
    ])
    func `the parser of these tests is strict`(text: String) {
        #expect(throws: ParsedExposition.Defect.self) { try ParsedExposition(text) }
    }

    // MARK: - Counters

    @Test func `counters of runs add up, and survive encoding`() throws {
        var first = Counters()
        first.count(.attempts, at: "a", now)
        first.count(.attempts, at: "a", now + .seconds(1))
        first.countRun(exitStatus: 0)
        first.countQuarantined(3)
        var second = first
        second.count(.expired, at: "b", now)
        second.countRun(exitStatus: ExitStatus.held.rawValue)
        first.add(second)
        #expect(first.runs == ["0": 2, "69": 1] && first.quarantined == 6)
        #expect(first.destinations["a"]?[.attempts] == 4 && first.destinations["b"]?[.expired] == 1)
        #expect(first.destinations["a"]?.at == now + .seconds(1))
        #expect(try decoded(JSONLine.text(first)) == first)
    }

    private func decoded(_ text: String) throws -> Counters {
        try JSONDecoder().decode(Counters.self, from: Data(text.utf8))
    }

    @Test func `counters of a manipulated file neither overflow nor decrease`() throws {
        var counters = try decoded(
            #"{"runs":{"0":9223372036854775807},"quarantined":-5,"destinations":{"a":{"counts":{"attempts":-9223372036854775808}}}}"#
        )
        var more = Counters()
        more.countRun(exitStatus: 0)
        more.countQuarantined(2)
        more.count(.attempts, at: "a", now)
        counters.add(more)
        #expect(counters.runs == ["0": .max] && counters.quarantined == 2)
        #expect(counters.destinations["a"]?[.attempts] == 1)
    }

    @Test func `the thousand destinations met last keep their counters`() {
        var counters = Counters()
        for number in 0..<1500 { counters.count(.attempts, at: "\(number)", now + .seconds(number)) }
        var stored = Counters()
        stored.add(counters)
        #expect(stored.destinations.count == 1000)
        #expect(stored.destinations["500"] != nil && stored.destinations["499"] == nil)
    }

    @Test func `the total of deliveries includes destinations no longer kept`() throws {
        var counters = Counters()
        let now = Timestamp(rfc3339: "2026-11-21T12:00:00Z")!
        for number in 0..<Counters.mostDestinations + 5 {
            var one = Counters()
            one.count(.delivered, at: "https://\(number).example", now + .seconds(Int64(number)))
            counters.add(one)
        }
        #expect(counters.destinations.count == Counters.mostDestinations)
        #expect(counters.delivered == Counters.mostDestinations + 5)
        #expect(counters.lastDelivery == now + .seconds(Int64(Counters.mostDestinations + 4)))
        #expect(try decoded(JSONLine.text(counters)) == counters)
        let older = #"{"version":1,"runs":{},"quarantined":0,"destinations":{"a":{"counts":{"delivered":7}}}}"#
        #expect(try decoded(older).delivered == 7)
    }
}

extension MetricFamily {
    /// The labels besides `queue`, which every metric has.
    var labels: [String] {
        switch self {
        case .operations: ["state", "destination"]
        case .closed: ["destination", "reason"]
        case .runs: ["exit_status"]
        case .oldest, .nextDue, .lastSuccess, .downSince, .trouble, .unsent: ["destination"]
        default: kind == .counter && self != .quarantined ? ["destination"] : []
        }
    }
}
