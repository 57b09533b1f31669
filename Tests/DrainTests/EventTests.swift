import Foundation
import Spool
import Testing

@testable import Drain
@testable import Policy

/// The events of a run, beyond its counts.
struct EventTests {
    private func ended(_ bench: Bench) -> [String] {
        bench.changes(.released).compactMap(\.destination)
    }

    private func superseded(_ bench: Bench) -> [String] {
        bench.events.compactMap { event in
            guard case .superseded(let name, let newer, let destination) = event else { return nil }
            return "\(name.id) by \(newer) at \(destination)"
        }.sorted()
    }

    @Test func `the end of a hold by a delivered probe is reported once`() throws {
        let bench = try Bench()
        try bench.add(3)
        _ = try bench.run { _ in .status(401) }
        #expect(bench.holds == 1 && ended(bench).isEmpty)
        bench.now = bench.now + .seconds(3601)
        _ = try bench.run { _ in .status(401) }
        #expect(ended(bench).isEmpty)
        bench.now = bench.now + .seconds(3601)
        #expect(try bench.run().delivered == 3)
        #expect(ended(bench) == ["http://one"])
        _ = try bench.run()
        #expect(ended(bench) == ["http://one"])
    }

    @Test func `the end of a hold by a probe with a different answer is reported, too`() throws {
        let bench = try Bench()
        try bench.add(2)
        _ = try bench.run { _ in .status(401) }
        bench.now = bench.now + .seconds(3601)
        _ = try bench.run { _ in .status(404) }
        #expect(ended(bench) == ["http://one"])
    }

    @Test func `a hold ends when its blame changes, and a new hold begins if the refusal stays`() throws {
        let bench = try Bench()
        try bench.add(2)
        _ = try bench.run { _ in .status(401) }
        bench.configuration.defaultRoute.headers = [HeaderField(name: "Authorization", value: "Bearer new")]
        bench.pass(.seconds(1))
        _ = try bench.run { _ in .status(401) }
        #expect(ended(bench) == ["http://one"])
        #expect(bench.holds == 2)
    }

    @Test func `the event of a superseded operation has both ids`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.coalesce = true
        try bench.add(3) { $0.key = "a" }
        _ = try bench.run()
        #expect(
            superseded(bench) == ["default-0 by default-2 at http://one", "default-1 by default-2 at http://one"])
    }

    @Test func `the event of an operation that a foreign file supersedes for room has both ids`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.coalesce = true
        bench.configuration.limits.operations = 2
        try bench.add(1) { $0.key = "a" }
        try bench.add(1) { $0.key = "b" }
        try Data(#"{"drainq":1,"id":"new","key":"a","payload":1}"#.utf8)
            .write(to: bench.directory.appending(path: "new/dropped"))
        bench.now = .init(microseconds: Int64(Date().timeIntervalSince1970 * 1e6)) + .seconds(5)
        let summary = try bench.run()
        #expect(summary.superseded == 1 && summary.delivered == 2)
        #expect(superseded(bench) == ["default-0 by new at http://one"])
    }

    @Test func `an operation that fails while a newer operation arrives is not reported as failed`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.coalesce = true
        try bench.add(1) { $0.key = "a" }
        _ = try bench.run { _ in
            if bench.bodies.last == "0" { _ = try? bench.add(1) { $0.key = "a" } }
            return .status(400)
        }
        let attempts = bench.events.compactMap { if case .attempted(let attempt) = $0 { attempt } else { nil } }
        #expect(attempts.map(\.settlement.disposition) == [.superseded])
        #expect(attempts.map(\.hasFailed) == [false])
        #expect(attempts.map(\.record.outcome) == [.failed])
    }

    @Test func `the event of a deferred attempt has a due time, the event of a delivery has none`() throws {
        let bench = try Bench()
        try bench.add(1)
        try bench.add(1, type: "other")
        _ = try bench.run { $0.url.hasPrefix("http://two") ? .status(204) : .status(503) }
        var due: [String: Timestamp?] = [:]
        for case .attempted(let attempt) in bench.events { due[attempt.destination] = attempt.nextDue }
        let until = try #require(due["http://one"] ?? nil)
        #expect(try bench.names(.deferred).map(\.gate) == [.retryAt(until)])
        #expect(try #require(due["http://two"]) == nil)
    }
}
