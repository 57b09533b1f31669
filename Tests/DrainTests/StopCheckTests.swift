import CSystem
import Foundation
import Policy
import Spool
import Testing

@testable import Drain

/// The checks that end a run, or block a destination, within a pass.
struct StopCheckTests {
    @Test func `an operator's pause is read once a second`() throws {
        let bench = try Bench()
        let parts = try Parts(bench)
        try bench.spool.setPaused(true)
        #expect(!parts.stopIfAsked())
        bench.pass(.seconds(1))
        #expect(parts.stopIfAsked() && parts.tally.summary.end == .paused)
    }

    @Test func `a slow read of the ledger is repeated less often than once a second`() throws {
        let bench = try Bench()
        var (system, looks) = (SystemCalls.real, 0)
        system.open = { (directory, path, flags, mode) throws(Errno) in
            if String(cString: path) == "state/destinations.json" {
                looks += 1
                bench.pass(.seconds(2))
            }
            return try SystemCalls.real.open(directory, path, flags, mode)
        }
        let parts = try Parts(bench, spool: SpoolDirectory(opening: bench.directory.path, system: system))
        looks = 0
        bench.pass(.seconds(1))
        for _ in 0..<100 { _ = parts.stopIfAsked() }
        #expect(looks == 1)
        bench.pass(.seconds(7))
        #expect(!parts.stopIfAsked() && looks == 1)
        bench.pass(.seconds(2))
        #expect(!parts.stopIfAsked() && looks == 2)
    }

    @Test func `an operator's hold blocks the destination within a pass`() throws {
        let bench = try Bench()
        try bench.add(1)
        let parts = try Parts(bench)
        let destination = parts.book[try parts.candidates()[0]]
        _ = try DestinationsFile(spool: bench.spool).record(
            [("http://one", .heldByHand(reason: "mine"))], settings: { _ in DestinationSettings() }, at: bench.now,
            durable: false)
        bench.pass(.seconds(1))
        #expect(!parts.stopIfAsked() && destination.isBlocked)
    }

    @Test func `a wait ends with the time limit`() throws {
        let bench = try Bench()
        let parts = try Parts(bench, RunOptions(maxTime: .seconds(5)))
        parts.dispatch.stop.sleep(until: bench.instant + .seconds(60))
        #expect(bench.slept.count == 1 && bench.slept[0] <= .seconds(5))
        #expect(parts.dispatch.stop.endIfTimeIsUp() && parts.tally.summary.end == .timeUp)
    }

    @Test(arguments: [nil, .seconds(3600)] as [Duration?])
    func `a wait lasts a minute at most, to notice an operator's pause`(maxTime: Duration?) throws {
        let bench = try Bench()
        let stop = try Parts(bench, RunOptions(maxTime: maxTime)).dispatch.stop
        stop.sleep(until: bench.instant + .seconds(600))
        #expect(bench.slept.count == 1 && bench.slept[0] > .seconds(59) && bench.slept[0] <= .seconds(60))
    }

    @Test func `an error outranks a signal as the reason for the end, and a signal outranks pauses and time limits`()
        throws
    {
        let bench = try Bench()
        let parts = try Parts(bench, RunOptions(maxTime: .seconds(1)))
        bench.pass(.seconds(1))
        #expect(parts.stopIfAsked() && parts.tally.summary.end == .timeUp)
        bench.signals = [15]
        _ = parts.tally.endIfInterrupted()
        try bench.spool.setPaused(true)
        bench.pass(.seconds(1))
        #expect(parts.stopIfAsked() && parts.dispatch.stop.endIfTimeIsUp() && parts.tally.summary.end == .signal(15))
        parts.tally.agentsFailed("gone")
        bench.pass(.seconds(1))
        #expect(parts.stopIfAsked() && parts.dispatch.stop.endIfTimeIsUp() && parts.tally.endIfInterrupted())
        #expect(parts.tally.summary.end == .broken("gone"))
    }

    @Test func `a signal ends the run`() throws {
        let bench = try Bench()
        let parts = try Parts(bench)
        #expect(!parts.stopIfAsked())
        bench.signals = [2]
        #expect(parts.stopIfAsked() && parts.tally.summary.end == .signal(2))
    }

    @Test func `a second signal cuts off the requests in flight before the grace time is up`() throws {
        let bench = try Bench()
        let parts = try Parts(bench, RunOptions(grace: .seconds(10)))
        bench.signals = [15]
        parts.beginGraceIfAsked()
        #expect(parts.dispatch.stop.graceEnd != nil && !parts.dispatch.stop.cutsOff)
        bench.signals = [15, 15]
        #expect(parts.dispatch.stop.cutsOff)
    }

    @Test func `requests are cut off when the grace time has gone by`() throws {
        let bench = try Bench()
        let parts = try Parts(bench, RunOptions(maxTime: .zero, grace: .seconds(10)))
        parts.beginGraceIfAsked()
        bench.pass(.seconds(9))
        #expect(!parts.dispatch.stop.cutsOff)
        bench.pass(.seconds(1))
        #expect(parts.dispatch.stop.cutsOff)
    }
}
