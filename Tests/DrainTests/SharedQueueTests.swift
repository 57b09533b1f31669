import CSystem
import Foundation
import Spool
import Testing

@testable import Drain
@testable import Policy

/// Several runs over a queue, nested in each other.
struct SharedQueueTests {
    /// A run of another process over the queue of a bench, with the number of its lost claims.
    private final class Process {
        private(set) var sent: [String] = []
        private(set) var urls: [String] = []
        private(set) var claims = 0
        private(set) var lost = 0
        private(set) var listings = 0
        /// Names in listings of `new/` without a file.
        var ghosts: [String] = []
        private let bench: Bench

        init(_ bench: Bench) {
            self.bench = bench
        }

        var system: SystemCalls {
            var system = SystemCalls.real
            system.rename = { (directory, from, target, to) throws(Errno) in
                let isClaim = String(cString: to).hasPrefix("claimed/")
                if isClaim { self.claims += 1 }
                do throws(Errno) { try SystemCalls.real.rename(directory, from, target, to) } catch {
                    if isClaim { self.lost += 1 }
                    throw error
                }
            }
            system.list = { (directory, path, body) throws(Errno) in
                let isNew = String(cString: path) == "new"
                if isNew { self.listings += 1 }
                try SystemCalls.real.list(directory, path, body)
                for ghost in self.ghosts where isNew {
                    _ = Array(ghost.utf8).withUnsafeBufferPointer { body($0) }
                }
            }
            return system
        }

        func run(
            _ options: RunOptions = RunOptions(limit: .max, concurrency: 1),
            meanwhile: @escaping (Int) -> Void = { _ in }
        ) throws -> RunSummary {
            let world = bench.world { request in
                self.urls.append(request.url)
                self.sent.append(String(decoding: request.body ?? [], as: UTF8.self))
                meanwhile(self.sent.count)
                return .status(204)
            }
            return try Run(
                spool: SpoolDirectory(opening: bench.directory.path, system: system),
                configuration: bench.configuration, options: options, world: world
            ) { _ in }()
        }
    }

    @Test func `an operation replaced between two attempts is not sent again, and its replacement stays`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.retry = BackoffSchedule(delays: .list([.milliseconds(1)]), attempts: 9)
        let now = bench.now
        var replaced: [Entry]?
        let result = try bench.send("a", retryWithin: .seconds(60)) {
            if replaced == nil, let name = try? bench.names(.deferred).first {
                replaced = try? bench.replace(Entry(state: .deferred, name: name), by: "2")
            }
            return now
        } answer: { _ in
            .status(500)
        }
        #expect(result.word == "deferred" && replaced?.count == 1 && bench.bodies == ["1"])
        bench.pass(.seconds(1))
        #expect(try bench.run().delivered == 1 && bench.bodies == ["2"])
    }

    @Test func `a run beside an idle run begins with its own share, and then sends the idle run's share`() throws {
        let bench = try Bench()
        try bench.add(100)
        let idle = try SpoolDirectory(opening: bench.directory.path).beginRun(now: bench.now)
        let process = Process(bench)
        let summary = try process.run()
        #expect(summary.delivered == 100 && summary.leftDue == 0)
        let order = process.sent.compactMap { Int($0) }
        let own = order.indices.dropFirst().first { order[$0] < order[$0 - 1] } ?? 0
        #expect((30...70).contains(own), "about half is its own share, the oldest first")
        #expect(Array(order[own...]) == order[own...].sorted(by: >), "then it helps")
        try idle.end()
    }

    @Test func `a run that ignores backoff does not override a cool-down that begins in the run`() throws {
        let bench = try Bench()
        try bench.add(60)
        let idle = try SpoolDirectory(opening: bench.directory.path).beginRun(now: bench.now)
        let summary = try bench.run(RunOptions(limit: 60, concurrency: 1, ignoresBackoff: true)) { _ in
            .failure(.refused, detail: "")
        }
        #expect(summary.attempts == 5)
        try idle.end()
    }

    // MARK: - Limits of destinations

    @Test
    func `the concurrency limit of a destination covers all runs, and a run without a slot leaves the destination`()
        throws
    {
        let bench = try Bench()
        bench.configuration.destinations["http://one"] = DestinationSettings(concurrency: 1)
        try bench.add(3)
        try bench.add(2, type: "other")
        let (first, second) = (Process(bench), Process(bench))
        var beside: RunSummary?
        let summary = try first.run { _ in
            if first.sent.count == 1 { beside = try? second.run() }
        }
        #expect(second.urls.allSatisfy { $0.hasPrefix("http://two") } && second.urls.count == 2)
        #expect(beside?.waiting == 2 && beside?.delivered == 2, "the others are not delayed by it")
        #expect(bench.slept.reduce(.zero, +) > .seconds(8))
        #expect(summary.delivered == 3)
        #expect(try Process(bench).run().delivered == 0)
    }

    @Test func `a run refused by the rate keeps no slot`() throws {
        let bench = try Bench()
        let settings = DestinationSettings(concurrency: 1, rate: Rate(count: 1, per: .seconds(2)))
        let destination = Destination(named: "http://one")
        func limits() -> DestinationLimits {
            DestinationLimits(of: destination, settings, in: bench.spool, bench.clock) { _ in }
        }
        let (first, second) = (limits(), limits())
        #expect(first.acquire(at: .zero, inFlight: 0))
        first.giveBack(inFlight: 0)
        for _ in 0..<3 { #expect(!second.acquire(at: .zero, inFlight: 0) && second.wait(at: .zero) > .seconds(1)) }
        #expect(first.acquire(at: .zero, inFlight: 0), "its span goes on, and the slot is free")
    }

    @Test func `a run leaves a slow rate to the run that uses the rate`() throws {
        let bench = try Bench()
        let settings = DestinationSettings(rate: Rate(count: 6, per: .seconds(60)))
        func limits() -> DestinationLimits {
            DestinationLimits(of: Destination(named: "http://one"), settings, in: bench.spool, bench.clock) { _ in }
        }
        let (first, second) = (limits(), limits())
        var elapsed = Duration.zero
        func pass(_ time: Duration) {
            bench.pass(time)
            elapsed += time
        }
        #expect(first.acquire(at: elapsed, inFlight: 0))
        pass(.seconds(4))
        #expect(!second.acquire(at: elapsed, inFlight: 0) && !second.isExhausted(at: elapsed, mayWait: true))
        #expect(second.isExhausted(at: elapsed, mayWait: false), "a run that does not stay leaves it")
        pass(second.wait(at: elapsed) - .milliseconds(40))
        #expect(first.acquire(at: elapsed, inFlight: 0), "it has the next span, too")
        pass(.milliseconds(40))
        #expect(!second.acquire(at: elapsed, inFlight: 0) && second.isExhausted(at: elapsed, mayWait: true))
    }

    @Test func `a wait for a slot begins after the slow call, and refusals of long ago do not count`() throws {
        let bench = try Bench()
        let destination = Destination(named: "http://one")
        let holder = SlotLocks(of: destination.digest, size: 1, in: bench.spool)
        #expect(try holder.acquire())
        var system = SystemCalls.real
        let real = system.lock
        system.lock = { (descriptor) throws(Errno) in
            bench.pass(.milliseconds(400))
            return try real(descriptor)
        }
        let limits = DestinationLimits(
            of: destination, DestinationSettings(concurrency: 1),
            in: try SpoolDirectory(opening: bench.directory.path, system: system), bench.clock
        ) { _ in }
        #expect(!limits.acquire(at: .zero, inFlight: 0) && limits.wait(at: .zero) >= .milliseconds(450))
        #expect(
            !limits.acquire(at: .seconds(3600), inFlight: 0) && !limits.isExhausted(at: .seconds(3600), mayWait: true))
        for second in 1...20 { _ = limits.acquire(at: .seconds(3600) + .milliseconds(500) * second, inFlight: 0) }
        #expect(limits.isExhausted(at: .seconds(3610), mayWait: true))
    }

    @Test func `the rate of a destination covers all runs, however often they start`() throws {
        let bench = try Bench()
        bench.configuration.destinations["http://one"] = DestinationSettings(rate: Rate(count: 6, per: .seconds(60)))
        try bench.add(3)
        var begun: [Timestamp] = []
        for _ in 0..<3 {
            let options = RunOptions(limit: 1, concurrency: 1, stay: .during(.seconds(30)))
            _ = try Process(bench).run(options) { _ in begun.append(bench.now) }
        }
        #expect(begun.count == 3 && begun[1] - begun[0] >= .seconds(10) && begun[2] - begun[0] >= .seconds(20))
    }

    @Test(arguments: [DestinationSettings(concurrency: 1), DestinationSettings(rate: Rate(count: 9, per: .seconds(1)))])
    func `a limit that cannot be shared is the run's own, and the error is reported`(settings: DestinationSettings)
        throws
    {
        let bench = try Bench()
        bench.configuration.destinations["http://one"] = settings
        try bench.add(3)
        for name in ["state/slots", "state/.rates.json"] {
            try Data().write(to: bench.directory.appending(path: name))
        }
        let file = settings.rate == nil ? "state/slots" : "state/.rates.json"
        var system = SystemCalls.real
        let real = system.open
        system.open = { (directory, path, flags, mode) throws(Errno) in
            if String(cString: path).hasPrefix(file) { throw Errno(ENOSPC) }
            return try real(directory, path, flags, mode)
        }
        var errors: [SpoolError] = []
        let summary = try Run(
            spool: SpoolDirectory(opening: bench.directory.path, system: system), configuration: bench.configuration,
            options: RunOptions(), world: bench.world { _ in .status(204) }
        ) { if case .inputOutputError(let error) = $0 { errors.append(error) } }()
        #expect(summary.delivered == 3 && errors.count == 1 && errors.first?.path.hasPrefix("state/") == true)
    }

    @Test func `send respects the limits of runs`() throws {
        let bench = try Bench()
        bench.configuration.destinations["http://one"] = DestinationSettings(concurrency: 1)
        try bench.add(1)
        var results: [String] = []
        func send(_ id: String) throws {
            let result = try bench.send(id)
            results.append(result.reason.isEmpty ? result.word : result.reason)
        }
        _ = try bench.run { _ in
            try? send("first")
            return .status(204)
        }
        try send("second")
        #expect(results == ["other processes use up the concurrency or the rate of 'http://one'", "delivered"])
    }

    // MARK: - Shares

    @Test func `a run alone ignores shares`() throws {
        let bench = try Bench()
        try bench.add(100)
        let process = Process(bench)
        _ = try process.run()
        #expect(process.sent == (0..<100).map(String.init))
        #expect(process.listings == 1)
    }

    @Test func `a run of named operations ignores shares`() throws {
        let bench = try Bench()
        let ids = try bench.add(20)
        let idle = try SpoolDirectory(opening: bench.directory.path).beginRun(now: bench.now)
        let process = Process(bench)
        _ = try process.run(RunOptions(limit: .max, concurrency: 1, ids: Set(ids.map { OperationID($0)! })))
        #expect(process.sent == (0..<20).map(String.init))
        try idle.end()
    }

    @Test func `a run lists again when a rival has taken its candidates`() throws {
        let bench = try Bench()
        try bench.add(400)
        let (first, second) = (Process(bench), Process(bench))
        var summaries: [RunSummary] = []
        summaries.append(
            try first.run { count in
                // The first run has chosen all 400: the second run begins, and takes operations.
                if count == 10 {
                    summaries.append(try! second.run(RunOptions(limit: 300, concurrency: 1)))
                }
            })
        #expect(Set(first.sent + second.sent).count == 400)
        #expect(first.sent.count + second.sent.count == 400)
        #expect(summaries.map(\.delivered).sorted() == [100, 300])
        #expect(first.lost + second.lost <= 20, "at most one in twenty")
    }

    @Test(arguments: [false, true])
    func `unclaimable names keep a run neither from claimable operations nor from its end`(hasPeer: Bool) throws {
        let bench = try Bench()
        let idle = hasPeer ? try SpoolDirectory(opening: bench.directory.path).beginRun(now: bench.now) : nil
        let process = Process(bench)
        process.ghosts = (0..<50).map { number in
            let time = bench.now + .microseconds(Int64(number))
            return EntryName(createdAt: time, id: OperationID("ghost-\(number)")!).description
        }
        bench.pass(.seconds(1))
        try bench.add(20)
        let summary = try process.run()
        #expect(summary.delivered == 20)
        #expect(process.lost <= 500)
        try idle?.end()
    }

    @Test func `a run sends ordered operations of a destination while another run sends those of another`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.ordering = .strict
        bench.configuration.routes[TypeName("other")!]?.ordering = .strict
        try bench.add(1, type: "other")
        try bench.add(5)
        let (first, second, third) = (Process(bench), Process(bench), Process(bench))
        _ = try first.run { count in
            // The only operation of the other destination is delivered, and another one comes.
            if count == 4 {
                try! bench.add(2, type: "other")
                try! bench.add(1)
                _ = try! second.run()
            }
        }
        #expect(second.urls == ["http://two/", "http://two/"])
        #expect(first.urls.count { $0 == "http://one/default" } == 5)
        _ = try third.run()
        #expect(third.urls == ["http://one/default"])
    }

    @Test func `an order holds where several runs share a queue`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.ordering = .key
        try bench.add(60) { $0.key = $0.id.description.hasSuffix("0") ? "a" : "b" }
        try bench.add(60, type: "other")
        let (first, second) = (Process(bench), Process(bench))
        _ = try first.run { count in
            if count == 5 { _ = try! second.run() }
        }
        #expect(first.sent.count + second.sent.count == 120)
        // The first run has the sequence lock.
        #expect(second.urls.allSatisfy { $0 == "http://two/" })
        let ordered = zip(first.urls, first.sent).filter { $0.0 == "http://one/default" }.compactMap { Int($0.1) }
        for key in [ordered.filter { $0 % 10 == 0 }, ordered.filter { $0 % 10 != 0 }] { #expect(key == key.sorted()) }
        #expect(ordered.count == 60)
    }
}
