import Foundation
import Spool
import Testing

@testable import Drain
@testable import Policy

/// What is known of a queue, after the same runs that an operator would see.
struct QueueHealthTests {
    private func health(_ bench: Bench) throws -> QueueHealth {
        let known = try KnownDestinations(showing: bench.spool, bench.configuration, at: bench.now)
        let count = try QueueCount(of: bench.spool, bench.configuration, known, at: bench.now)
        return try QueueHealth(of: bench.spool, count, known, at: bench.now)
    }

    private func found(_ bench: Bench) throws -> [QueueHealth.Finding] { try health(bench).findings }

    @Test func `a queue that no run has touched is not well as soon as something is due`() throws {
        let bench = try Bench()
        #expect(try found(bench) == [.fresh])
        try bench.add(1)
        bench.pass(.seconds(4 * 86_400))
        #expect(try found(bench) == [.neverRun])
    }

    @Test func `the finding of files in quarantine has their reason, unless they have several`() throws {
        let bench = try Bench()
        func keep(_ reason: String) throws {
            let input = SpoolDirectory.BadInput(
                Array("1".utf8), reason: reason, source: "line 1", reading: Reading(.payload))
            _ = try bench.spool.keepBadInput([input], by: AdmissionRule(bench.configuration), now: bench.now)
        }
        for _ in 0..<2 { try keep("it killed\u{1B} five runs") }
        #expect(try found(bench) == [.quarantined])
        #expect(try health(bench).quarantineReason == "it killed\\u{1b} five runs")
        try keep("the text is no operation")
        #expect(try health(bench).newQuarantined == 3 && health(bench).quarantineReason == nil)
    }

    @Test func `a file in quarantine is new until an operator names it, and another one of its name is new`() throws {
        let bench = try Bench()
        let input = SpoolDirectory.BadInput(
            Array("1".utf8), reason: "it is bad", source: "line 1", reading: Reading(.payload))
        _ = try bench.spool.keepBadInput([input], by: AdmissionRule(bench.configuration), now: bench.now)
        let item = try bench.spool.quarantined()[0]
        let mark = try #require(try SeenFiles.mark(of: item, in: bench.spool))
        try SeenFiles.note([mark], in: bench.spool)
        #expect(try health(bench).newQuarantined == 0)
        let path = "\(bench.spool.path)/quarantine/\(item.fileName)"
        try FileManager.default.removeItem(atPath: path)
        #expect(try SeenFiles.mark(of: item, in: bench.spool) == nil)
        usleep(10_000)
        try Data("2".utf8).write(to: URL(fileURLWithPath: path))
        #expect(try health(bench).newQuarantined == 1)
    }

    @Test func `well needs a delivery, and a run within five usual intervals while something is due`() throws {
        let bench = try Bench()
        try bench.add(1)
        for _ in 0..<3 {
            _ = try bench.run()
            bench.pass(.seconds(600))
        }
        #expect(try found(bench) == [.well])
        try bench.add(1)
        bench.pass(.seconds(2390))
        #expect(try found(bench) == [.well])
        bench.pass(.seconds(20))
        let last = try health(bench).runs.last(at: bench.now)
        #expect(try found(bench) == [.notRunning(since: try #require(last))])
        #expect(bench.changes(.gap).isEmpty)
        _ = try bench.run()
        #expect(try bench.changes(.gap).map(\.since) == [last] && found(bench) == [.well])
    }

    @Test func `a run that cannot begin, finds another run or dies is no sign that runs come`() throws {
        let bench = try Bench()
        try bench.add(1)
        _ = try bench.run()
        let last = try #require(try health(bench).runs.last(at: bench.now))
        try bench.add(1)
        bench.pass(.seconds(901))
        try #require(chmod(bench.directory.path, 0o777) == 0)
        #expect(throws: SpoolError.self) { try bench.run() }
        try #require(chmod(bench.directory.path, 0o700) == 0)
        #expect(try found(bench) == [.notRunning(since: last)])
        do {
            let other = try bench.spool.beginRun(now: bench.now)
            #expect(try found(bench) == [.working] && !health(bench).areRunsMissing)
            #expect(try bench.run(RunOptions(failsIfBusy: true)).end == .busy)
            bench.pass(.seconds(901))
            #expect(try found(bench) == [.notRunning(since: last)] && health(bench).areRunsMissing)
            withExtendedLifetime(other) {}
        }
        #expect(try found(bench) == [.notRunning(since: last)])
        #expect(try bench.run().delivered == 1)
        #expect(try bench.changes(.gap).map(\.since) == [last] && found(bench) == [.well])
    }

    @Test func `a run of a paused queue is a sign that runs come`() throws {
        let bench = try Bench()
        try bench.add(1)
        _ = try bench.run()
        try bench.spool.setPaused(true, by: "ada", at: bench.now)
        bench.pass(.seconds(86_400))
        #expect(try bench.run().end == .paused)
        try bench.spool.setPaused(false)
        try bench.add(1)
        #expect(try found(bench) == [.well])
    }

    @Test func `a run at work shows by its lock, and what a dead run has claimed is due`() throws {
        let bench = try Bench()
        try bench.add(1)
        _ = try bench.run()
        try bench.add(1)
        do {
            let alive = try bench.spool.beginRun(now: bench.now)
            #expect(try found(bench) == [.working] && health(bench).due == 1)
            _ = try #require(try alive.claim(Entry(state: .new, name: bench.names(.new)[0])))
            #expect(try found(bench) == [.working] && health(bench).due == 0)
        }
        #expect(try found(bench) == [.well] && health(bench).due == 1)
        bench.pass(.seconds(86_400))
        let last = try #require(try health(bench).runs.last(at: bench.now))
        #expect(try found(bench) == [.notRunning(since: last)] && health(bench).due == 1)
    }

    @Test(arguments: [NetworkError.proxy, .machine, .shortage, .cancelled])
    func `a destination that takes nothing is in trouble whoever is to blame`(error: NetworkError) throws {
        let bench = try Bench()
        try bench.add(1)
        for _ in 0..<4 {
            _ = try bench.run { _ in .failure(error, detail: "") }
            bench.pass(.seconds(600))
        }
        #expect(try found(bench) == [.trouble])
        #expect(try health(bench).troubles.map(\.cause?.error) == [error.rawValue])
        #expect(try bench.names(.deferred).allSatisfy { $0.attempts == 0 } && bench.names(.failed).isEmpty)
        _ = try bench.run()
        #expect(try found(bench) == [.well])
    }

    @Test func `credentials that a command does not give are a trouble, with their reason`() throws {
        let bench = try Bench()
        bench.configuration.secrets = ["token": .command(["token"], ttl: nil)]
        bench.configuration.defaultRoute.headers = [HeaderField(name: "Authorization", value: "${secret:token}")]
        bench.credentials.values = { names, _ in
            names.isEmpty
                ? .none : SecretValues(failures: ["token": "vault sealed"], unavailable: ["token": .seconds(60)])
        }
        try bench.add(1)
        for _ in 0..<4 {
            _ = try bench.run()
            bench.pass(.seconds(600))
        }
        #expect(try found(bench) == [.trouble])
        #expect(try health(bench).troubles.first?.cause?.words?.contains("vault sealed") == true)
    }

    @Test(arguments: [500, 408, 409, 422])
    func `a destination that answers and takes nothing is in trouble after a quarter of an hour`(status: Int) throws {
        let bench = try Bench()
        try bench.add(1)
        _ = try bench.run { _ in .status(status) }
        let early = try health(bench)
        #expect(early.destinations.map(\.state) == [.missed] && early.destinations[0].cause?.status == status)
        bench.pass(.seconds(901))
        try bench.add(1)
        _ = try bench.run { _ in .status(status) }
        let late = try health(bench)
        #expect(late.troubles.map(\.state) == [.down] && late.findings.first == .trouble)
        #expect(late.troubles[0].answersWithoutTaking && bench.changes(.down).map(\.status) == [status])
        bench.pass(.seconds(86_400))
        try bench.add(1)
        _ = try bench.run()
        #expect(try health(bench).troubles.isEmpty && bench.changes(.up).map(\.ended) == ["delivery"])
    }

    @Test func `time alone makes a trouble, and a run without an attempt tells it`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.retry = BackoffSchedule(delays: .list([.seconds(7200)]))
        try bench.add(1)
        _ = try bench.run { _ in .status(500) }
        bench.pass(.seconds(901))
        #expect(try found(bench) == [.trouble] && bench.changes(.down).isEmpty)
        _ = try bench.run()
        #expect(bench.changes(.down).count == 1)
        _ = try bench.run()
        #expect(bench.changes(.down).count == 1)
    }

    @Test func `a corrected url leaves the old host in nobody's trouble, and the next run ends its state`() throws {
        let bench = try Bench()
        try bench.add(6)
        _ = try bench.run { _ in .failure(.refused, detail: "") }
        bench.configuration.defaultRoute.url = "http://three/"
        #expect(try health(bench).troubles.isEmpty)
        bench.pass(.seconds(86_400))
        #expect(try bench.run().delivered == 6)
        #expect(try bench.state(of: "http://one").trouble == nil && found(bench) == [.well])
    }

    @Test func `an operation with the old url of its own keeps the old host in trouble`() throws {
        let bench = try Bench()
        try bench.add(6) { $0.url = "http://own/x" }
        _ = try bench.run { _ in .failure(.refused, detail: "") }
        _ = try bench.run { _ in .failure(.refused, detail: "") }
        #expect(try health(bench).troubles.map(\.name) == ["http://own"])
    }

    @Test func `a pause is told, and what is paused is not due`() throws {
        let bench = try Bench()
        try bench.add(2)
        try bench.spool.setPaused(true, by: "ada", at: bench.now)
        let paused = try health(bench)
        #expect(paused.findings == [.paused] && paused.due == 0 && paused.pause?.user == "ada")
        try bench.spool.setPaused(false)
        #expect(try health(bench).due == 2)
    }

    @Test func `a damaged or newer state is not known, and never well`() throws {
        let bench = try Bench()
        try bench.add(1)
        _ = try bench.run()
        #expect(try found(bench) == [.well])
        try bench.spool.writeState("destinations.json", Array("{\"version\":9}\n".utf8))
        #expect(try found(bench).first == .unreadable(["destinations.json"]))
        try bench.spool.writeState("destinations.json", Array("nothing\n".utf8))
        #expect(try found(bench).first == .unreadable(["destinations.json"]))
        try bench.spool.writeState("destinations.json", Array("{\"version\":1,\"destinations\":{}}\n".utf8))
        try bench.spool.writeState("runs", Array("a newer drainq's times\n".utf8))
        #expect(try found(bench).first == .unreadable(["runs"]))
    }

    @Test func `a full queue is told until there is room, and a key that coalesces counts once`() throws {
        let bench = try Bench()
        bench.configuration.limits.operations = 2
        bench.configuration.routes[TypeName("value")!] = Route {
            ($0.url, $0.coalesce) = ("http://one/value", true)
        }
        try bench.add(1)
        try bench.add(3, type: "value") { $0.key = "k" }
        #expect(try found(bench).first == .neverRun && found(bench).contains(.full(.operations(2))))
        bench.configuration.limits.whenFull = .dropOldest
        #expect(try !found(bench).contains(.full(.operations(2))))
        bench.configuration.limits = Limits(operations: 3)
        #expect(try found(bench) == [.neverRun])
        bench.configuration.limits = Limits(bytes: 1)
        #expect(try found(bench).contains(.full(.bytes(1))))
        bench.configuration.limits = Limits(minimumFree: .max)
        #expect(try found(bench).contains(.full(.minimumFree(.max))))
        bench.configuration.limits = Limits(operations: 2)
        _ = try bench.run()
        #expect(try found(bench) == [.well])
    }

    @Test func `a clock that was set back is told, and not taken for a damaged file`() throws {
        let bench = try Bench()
        bench.pass(.seconds(3 * 86_400))
        _ = try bench.run()
        let last = try #require(try health(bench).runs.times.last)
        bench.now = bench.now - .seconds(3 * 86_400)
        try bench.add(1)
        #expect(try found(bench) == [.clockSetBack(from: last)])
        _ = try bench.run()
        #expect(try found(bench) == [.well])
    }

    @Test func `a failed operation is new until an operator names it, and again if it comes back`() throws {
        let bench = try Bench()
        try bench.add(2)
        _ = try bench.run { $0.body == Array("1".utf8) ? .status(422) : .status(204) }
        #expect(try health(bench).newFailed == 1)
        let entry = Entry(state: .failed, name: try bench.names(.failed)[0])
        let mark = try #require(try SeenFiles.mark(of: entry, in: bench.spool))
        try SeenFiles.note([mark], in: bench.spool)
        #expect(try health(bench).newFailed == 0 && found(bench) == [.well])
        // It leaves failed/ and comes again under its name.
        let (path, away) = ("\(bench.spool.path)/\(entry.path)", "\(bench.spool.path)/new/.away")
        try FileManager.default.moveItem(atPath: path, toPath: away)
        usleep(10_000)
        try FileManager.default.moveItem(atPath: away, toPath: path)
        #expect(try found(bench) == [.failed])
    }
}
