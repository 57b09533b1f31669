import Foundation
import Policy
import Spool
import Testing

@testable import Drain

/// Several runs over one queue, one within the other.
@Suite struct SharedQueueTests {
    /// A run over the queue of a bench as another process has it; every claim that it loses is counted.
    private final class Process {
        private(set) var sent: [String] = []
        private(set) var urls: [String] = []
        private(set) var claims = 0
        private(set) var lost = 0
        private(set) var listings = 0
        /// Names that a listing of `new/` shows and nobody can claim.
        var ghosts: [String] = []
        private let bench: Bench

        init(_ bench: Bench) {
            self.bench = bench
        }

        var system: SystemCalls {
            var system = SystemCalls.real
            system.rename = { (directory, from, to) throws(Errno) in
                let isClaim = String(cString: to).hasPrefix("claimed/")
                if isClaim { self.claims += 1 }
                do throws(Errno) { try SystemCalls.real.rename(directory, from, to) } catch {
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

    @Test func `a run beside another one begins with its own share, and leaves nothing of a run that does nothing`()
        throws
    {
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

    @Test func `with --now a cool-down that begins in the run is not overridden at each listing`() throws {
        let bench = try Bench()
        try bench.add(60)
        let idle = try SpoolDirectory(opening: bench.directory.path).beginRun(now: bench.now)
        let summary = try bench.run(RunOptions(limit: 60, concurrency: 1, ignoresBackoff: true)) { _ in
            .failure(.refused, detail: "")
        }
        #expect(summary.attempts == 5)
        try idle.end()
    }

    @Test func `a run alone takes no notice of shares`() throws {
        let bench = try Bench()
        try bench.add(100)
        let process = Process(bench)
        _ = try process.run()
        #expect(process.sent == (0..<100).map(String.init))
        #expect(process.listings == 1)
    }

    @Test func `operations that are named are all this run's`() throws {
        let bench = try Bench()
        let ids = try bench.add(20)
        let idle = try SpoolDirectory(opening: bench.directory.path).beginRun(now: bench.now)
        let process = Process(bench)
        _ = try process.run(RunOptions(limit: .max, concurrency: 1, ids: Set(ids.map { OperationID($0)! })))
        #expect(process.sent == (0..<20).map(String.init))
        try idle.end()
    }

    @Test func `a run lists again when a rival has taken what it chose`() throws {
        let bench = try Bench()
        try bench.add(400)
        let (first, second) = (Process(bench), Process(bench))
        var summaries: [RunSummary] = []
        summaries.append(
            try first.run { count in
                // It has chosen all 400: the other one begins, and takes what it can.
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
    func `names that nobody can claim keep a run neither from the others nor from its end`(hasPeer: Bool) throws {
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

    @Test func `an order holds where several runs share`() throws {
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
