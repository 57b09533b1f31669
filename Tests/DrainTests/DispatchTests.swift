import Delivery
import Spool
import Testing

@testable import Drain
@testable import Policy

/// The number of requests in flight, their rate and their end, on a clock whose waits end at once.
struct DispatchTests {
    @Test func `a run keeps its rate without a request in flight, and looks for operators once a second`() throws {
        let bench = try Bench()
        try bench.add(4)
        let parts = try Parts(bench, RunOptions(rate: Rate(count: 1, per: .seconds(10))))
        #expect(try parts.send() == 4)
        let slept = bench.slept.reduce(.zero, +)
        #expect(slept > .seconds(27) && slept <= .seconds(30) && bench.slept.allSatisfy { $0 <= .seconds(1) })
        #expect(parts.tally.summary.delivered == 4)
    }

    @Test func `a run claims no more operations than may be in flight`() throws {
        let bench = try Bench()
        #expect(try bench.mostClaimed(20) == 5)
    }

    @Test func `the time limit ends the claims, and operations in flight are settled`() throws {
        let bench = try Bench()
        try bench.add(20)
        let parts = try Parts(bench, RunOptions(maxTime: .seconds(3))) { _ in
            bench.pass(.seconds(2))
            return .status(204)
        }
        #expect(try parts.send() == 6)
        #expect(parts.tally.summary.end == .timeUp && parts.tally.summary.delivered == 6)
        #expect(try bench.names(.new).count == 14)
    }

    @Test func `requests in flight when the grace time is up are cut off, uncharged`() throws {
        let bench = try Bench()
        try bench.add(20)
        let parts = try Parts(bench, RunOptions(grace: .seconds(10))) { _ in
            bench.signals = [15]
            bench.pass(.seconds(6))
            return .status(204)
        }
        try parts.send()
        let summary = parts.tally.summary
        #expect(summary.end == .signal(15) && summary.delivered == 3 && summary.cutOff == 2 && !summary.wasCutOff)
        #expect(try bench.names(.deferred).map(\.attempts) == [0, 0])
    }

    @Test func `agents that cannot be started end the run, and nothing stays claimed`() throws {
        let bench = try Bench()
        try bench.add(3)
        bench.failure = SinkError("cannot start a delivery agent: Too many open files")
        let parts = try Parts(bench)
        try parts.send()
        #expect(parts.tally.hasEnded && parts.tally.summary.inputOutputErrors == 1)
        #expect(try bench.names(.claimed).isEmpty)
    }
}
