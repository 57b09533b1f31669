import Foundation
import Spool
import Testing

@testable import Drain
@testable import Policy

/// Runs that stay: each pass begins and ends like a run.
struct StayingTests {
    private func run(_ bench: Bench, _ options: RunOptions, _ world: World) throws -> RunSummary {
        try Run(spool: bench.spool, configuration: bench.configuration, options: options, world: world) { _ in }()
    }

    @Test func `a changed configuration is in force from the next pass on, and the counts go on`() throws {
        let bench = try Bench()
        try bench.add(1)
        var urls: [String] = []
        let answer: (OutgoingRequest) -> AttemptReport.Result = { request in
            urls.append(request.url)
            return .status(204)
        }
        var world = bench.world(answer)
        var isChanged = false
        world.renewal = {
            if isChanged { return nil }
            isChanged = true
            _ = try? bench.add(1)
            var changed = bench.configuration
            changed.defaultRoute.url = "http://two/{type}"
            return (changed, bench.world(answer))
        }
        let summary = try run(bench, RunOptions(stay: .during(.seconds(5))), world)
        #expect(urls == ["http://one/default", "http://two/default"])
        #expect(summary.delivered == 2 && summary.attempts == 2 && summary.end == .done)
    }

    @Test func `a run that stays reports the end of each pass, with the sequence lock free`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.ordering = .key
        try bench.add(1) { $0.key = "k" }
        var world = bench.world { _ in .status(400) }
        var told: [Int] = []
        var isFree: [Bool] = []
        world.passEnded = {
            told.append($0.failed)
            let lock = try? bench.spool.lockSequences()
            isFree.append(lock != nil)
            lock?.release()
        }
        let summary = try run(bench, RunOptions(stay: .during(.seconds(5))), world)
        #expect(summary.failed == 1)
        #expect(told.first == 1 && (4...6).contains(told.count))
        #expect(!isFree.contains(false))
    }

    @Test func `passes that follow each other at once are reported once a second`() throws {
        let bench = try Bench()
        try bench.add(30)
        var told = 0
        var world = bench.world { _ in
            bench.pass(.milliseconds(200))
            return .status(204)
        }
        world.passEnded = { _ in told += 1 }
        let summary = try run(bench, RunOptions(limit: 1, concurrency: 1, stay: .untilEmpty), world)
        #expect(summary.delivered == 30 && (4...7).contains(told))
    }

    @Test func `until-empty waits while another run has the sequence lock`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.ordering = .key
        try bench.add(1) { $0.key = "k" }
        let lock = try #require(try bench.spool.lockSequences())
        var world = bench.world { _ in .status(204) }
        var passes = 0
        world.passEnded = { _ in
            passes += 1
            if passes == 3 { lock.release() }
        }
        let summary = try run(bench, RunOptions(stay: .untilEmpty), world)
        #expect(summary.delivered == 1 && passes == 3)
    }

    @Test func `until-empty sends an operation claimed by a run that died meanwhile`() throws {
        let bench = try Bench()
        try bench.add(2)
        let other = try SpoolDirectory(opening: bench.directory.path)
        var dying: SpoolRun? = try other.beginRun(now: bench.now)
        let name = try #require(try bench.names(.new).first)
        _ = try dying?.claim(Entry(state: .new, name: name))
        let world = bench.world { _ in
            // The lock of a run ends with its process.
            dying = nil
            return .status(204)
        }
        let summary = try run(bench, RunOptions(stay: .untilEmpty), world)
        #expect(summary.delivered == 2 && summary.recovered == 1)
    }

    @Test(arguments: [RunOptions.Stay.no, .untilEmpty])
    func `a run that a signal ends before the admission of a file reports operations left`(stay: RunOptions.Stay) throws
    {
        let bench = try Bench()
        try Data(#"{"drainq":1,"payload":1}"#.utf8).write(to: bench.directory.appending(path: "new/dropped"))
        bench.signals = [15]
        let summary = try bench.run(RunOptions(stay: stay))
        #expect(summary.outcomes == [.deferred] && summary.attempts == 0)
        bench.signals = []
        #expect(try bench.run().delivered == 1)
    }
}
