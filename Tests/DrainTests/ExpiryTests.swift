import CSystem
import Foundation
import Spool
import Testing

@testable import Drain
@testable import Policy

/// A waiting operation expires like an attempted operation, whatever the wait reason. The age of the schedule bounds
/// the attempts, but no wait for an operator, a credential or a notBefore time.
struct ExpiryTests {
    enum Wait: String, CaseIterable {
        case heldByItself, heldDestination, pausedDestination, parked, ownTime
    }

    enum Bound: String, CaseIterable {
        case own, route, schedule
    }

    /// Makes a bench with a waiting operation, whose bound ends in 200 s.
    private func bench(_ wait: Wait, _ bound: Bound) throws -> Bench {
        let bench = try Bench()
        let end = bench.now + .seconds(200)
        switch bound {
        case .own: break
        case .route: bench.configuration.defaultRoute.expiresAfter = .seconds(200)
        case .schedule: bench.configuration.defaultRoute.retry.maxAge = .seconds(200)
        }
        let later = bench.now + .seconds(86_400)
        try bench.add(1) { header in
            if bound == .own { header.expiresAt = end }
            if wait == .ownTime { header.notBefore = later }
        }
        let entry = Entry(state: .new, name: try bench.names(.new)[0])
        let destination = DestinationTable(bench.configuration).destination(of: entry.name).name
        func record(_ event: DestinationEvent) throws {
            try DestinationsFile(spool: bench.spool).record(
                [(destination, event)], settings: { _ in DestinationSettings() }, at: bench.now, durable: true)
        }
        switch wait {
        case .heldByItself: _ = try bench.spool.hold(entry)
        case .heldDestination: try record(.heldByHand(reason: "test"))
        case .pausedDestination: try record(.paused)
        case .parked: #expect(try bench.run { _ in .status(403) }.attempts == 1)
        case .ownTime: break
        }
        return bench
    }

    @Test(arguments: [true, false])
    func `an operation that expires while its agent hangs is not sent again`(hadBegun: Bool) throws {
        let bench = try Bench()
        let end = bench.now + .seconds(20)
        try bench.add(2) { $0.expiresAt = end }
        try bench.add(1)
        bench.isSuspect = { _ in hadBegun && bench.now < end }
        bench.isUnbegun = { _ in !hadBegun && bench.now < end }
        var requests = 0
        let summary = try bench.run(RunOptions(concurrency: 3)) { _ in
            requests += 1
            if requests == 3 { bench.pass(.seconds(25)) }
            return .status(204)
        }
        #expect(summary.expired == 2 && summary.delivered == 1)
        #expect(summary.attempts == (hadBegun ? 3 : 1))
    }

    @Test func `an attempt that had not begun is made again under its number, and counts once`() throws {
        let bench = try Bench()
        try bench.add(1)
        bench.isUnbegun = { _ in bench.sink?.requests.count == 1 }
        let summary = try bench.run()
        let attempts = bench.sink?.requests.map { $0.headers.first { $0.name == "Drainq-Attempt" }?.value }
        #expect(attempts == ["1", "1"] && summary.attempts == 1 && summary.delivered == 1)
    }

    @Test(arguments: [Wait.heldDestination, .pausedDestination, .ownTime], [Bound.own, .route])
    func `an operation that expires while it waits counts as failed alone`(wait: Wait, bound: Bound) throws {
        let bench = try bench(wait, bound)
        bench.now = bench.now + .seconds(250)
        let summary = try bench.run()
        #expect(summary.failed == 1 && summary.held == 0 && summary.paused == 0 && summary.waiting == 0)
        #expect(summary.nextDue == nil)
    }

    @Test(arguments: Wait.allCases, Bound.allCases)
    func `a waiting operation fails at its expiry, not at the age of its schedule`(wait: Wait, bound: Bound) throws {
        let bench = try bench(wait, bound)
        bench.now = bench.now + .seconds(150)
        #expect(try bench.run { _ in .status(403) }.failed == 0)
        bench.now = bench.now + .seconds(51)
        let summary = try bench.run { _ in .status(403) }
        let hasFailed = bound != .schedule
        #expect(summary.failed == (hasFailed ? 1 : 0) && summary.attempts == 0)
        #expect(try bench.names(.failed).count == (hasFailed ? 1 : 0))
    }

    @Test(arguments: [false, true])
    func `a run that stays goes by the expiry that an operation has now`(hadOne: Bool) throws {
        let bench = try bench(.pausedDestination, hadOne ? .own : .schedule)
        let name = try bench.names(.new)[0]
        var passes = 0
        var world = bench.world { _ in .status(204) }
        world.reportsDue = { _ in
            passes += 1
            guard passes == 2, case .operation(let stored)? = try? bench.spool.read(Entry(state: .new, name: name))
            else { return true }
            // What `import --replace` does: another file takes the name.
            var edited = stored.operation
            edited.header.expiresAt = bench.now + .seconds(5)
            let scratch = bench.directory.appending(path: "tmp/edited")
            try? Data(OperationFile.encode(edited)).write(to: scratch)
            rename(scratch.path, bench.directory.appending(path: "new/\(name)").path)
            return true
        }
        let summary = try Run(
            spool: bench.spool, configuration: bench.configuration,
            options: RunOptions(stay: .during(.seconds(20))), world: world
        ) { _ in }()
        #expect(passes > 2 && summary.failed == 1)
        #expect(try bench.names(.failed).count == 1)
    }

    @Test func `an expired operation whose file is damaged goes to quarantine`() throws {
        let bench = try bench(.heldDestination, .route)
        let name = try bench.names(.new)[0]
        try Data("damaged".utf8).write(to: bench.directory.appending(path: "new/\(name)"))
        bench.now = bench.now + .seconds(250)
        let summary = try bench.run()
        #expect(summary.quarantined == 1 && summary.failed == 0)
        #expect(try bench.names(.new).isEmpty)
    }

    @Test func `after a hold longer than the age of the schedule, an operation still gets an attempt`() throws {
        let bench = try bench(.heldDestination, .schedule)
        bench.now = bench.now + .seconds(4 * 86_400)
        #expect(try bench.run().held == 1)
        try DestinationsFile(spool: bench.spool).record(
            [("http://one", .released)], settings: { _ in DestinationSettings() }, at: bench.now, durable: true)
        #expect(try bench.run { _ in .status(503) }.failed == 1)
        try bench.add(1)
        #expect(try bench.run().delivered == 1)
    }

    @Test func `expired operations behind a hold fail in portions, up to the limit`() throws {
        for (limit, expired) in [(100, 9), (4, 4)] {
            let bench = try Bench()
            let end = bench.now + .seconds(200)
            try bench.add(9) { $0.expiresAt = end }
            bench.now = end + .seconds(1)
            try DestinationsFile(spool: bench.spool).record(
                [("http://one", .heldByHand(reason: "x"))], settings: { _ in DestinationSettings() }, at: bench.now,
                durable: true)
            let summary = try bench.run(RunOptions(limit: limit), portion: 3)
            #expect(summary.expired == expired && summary.leftDue == 9 - expired)
        }
    }
}
