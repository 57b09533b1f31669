import CSystem
import Foundation
import Spool
import Testing

@testable import Drain
@testable import Policy

/// Quarantine does not break the order, and harmless operations do not get into quarantine.
struct QuarantineTests {
    private let bench: Bench

    init() throws { bench = try Bench() }

    /// Makes a run die after the beginning of requests for these operations.
    private func die(with ids: [String]) throws {
        let run = try bench.spool.beginRun(now: bench.now)
        var claims: [Claim] = []
        for state in [QueueState.new, .deferred] {
            for name in try bench.names(state) where ids.contains(name.id.description) {
                claims.append(try #require(try run.claim(Entry(state: state, name: name))))
            }
        }
        #expect(claims.count == ids.count)
        run.begin(claims)
    }

    @Test(arguments: [Ordering.key, .strict], [false, true])
    func `operations behind a quarantined operation wait as behind a dead letter`(ordering: Ordering, holds: Bool)
        throws
    {
        bench.configuration.defaultRoute.ordering = ordering
        bench.configuration.defaultRoute.onFailure = holds ? .hold : .proceed
        try bench.add(3) { $0.key = "k" }
        for _ in 1...5 {
            try die(with: ["default-0"])
            let run = try bench.spool.beginRun(now: bench.now)
            _ = try run.recover(now: bench.now)
            try run.end()
        }
        #expect(try bench.spool.quarantined().count == 1)
        #expect(try bench.run().delivered == (holds ? 0 : 2))
        guard holds else { return }
        let known = try KnownDestinations(of: bench.spool, bench.configuration, at: bench.now)
        #expect(try bench.names(.new).allSatisfy { known.failedHolder(of: $0)?.description == "default-0" })
        let clock = bench.clock
        var change = OperationChange(.retry(), in: bench.spool, bench.configuration, clock: clock) { _ in }
        try change.perform(on: .targets([.id(OperationID("default-0")!)]))
        #expect(try bench.run(RunOptions(concurrency: 1)).delivered == 3)
        #expect(bench.bodies.suffix(3) == ["0", "1", "2"])
    }

    @Test(arguments: [true, false])
    func `what is no file goes to quarantine instead of going for a newer value of its key`(isDirectory: Bool) throws {
        bench.configuration.defaultRoute.coalesce = true
        try bench.add(2) { $0.key = "k" }
        let path = "\(bench.directory.path)/new/\(try bench.names(.new)[0])"
        try FileManager.default.removeItem(atPath: path)
        if isDirectory {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        } else {
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/")
        }
        let summary = try bench.run()
        #expect(summary.delivered == 1 && summary.superseded == 0 && summary.inputOutputErrors == 0)
        #expect(try bench.spool.quarantined().count == 1 && bench.names(.new).isEmpty)
    }

    @Test func `a damaged operation holds the operations behind, also in the run of its quarantine`() throws {
        bench.configuration.defaultRoute.ordering = .key
        bench.configuration.defaultRoute.onFailure = .hold
        try bench.add(2) { $0.key = "k" }
        let path = "\(bench.directory.path)/new/\(try bench.names(.new)[0])"
        let file = try #require(fopen(path, "r+"))
        fseek(file, -2, SEEK_END)
        fputc(0x39, file)
        fclose(file)
        let summary = try bench.run()
        #expect(summary.quarantined == 1 && summary.delivered == 0)
        #expect(try bench.run().delivered == 0)
    }

    @Test func `interrupted operations are sent alone, one at a time, the least interrupted first`() throws {
        bench.configuration.defaultRoute.batch = Batch(max: 20)
        try bench.add(5)
        try die(with: ["default-0", "default-1", "default-2", "default-3"])
        // The operation interrupted twice comes last in the next run.
        let run = try bench.spool.beginRun(now: bench.now)
        _ = try run.recover(now: bench.now)
        try run.end()
        try die(with: ["default-0"])
        let summary = try bench.run(RunOptions(concurrency: 5))
        #expect(summary.delivered == 5)
        let sent = bench.bodies.map { $0.filter(\.isNumber) }
        #expect(sent.filter { ["1", "2", "3"].contains($0) } == ["1", "2", "3"], "\(bench.bodies)")
        #expect(sent.last == "0" && sent.count == 5, "\(bench.bodies)")
    }

    @Test func `a lowered limit does not touch accepted operations`() throws {
        try bench.add(1, body: "\"\(String(repeating: "x", count: 5000))\"")
        bench.configuration.limits.operationBytes = 1000
        let summary = try bench.run()
        #expect(summary.delivered == 1 && summary.quarantined == 0)
    }
}
