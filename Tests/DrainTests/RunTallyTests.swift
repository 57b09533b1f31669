import CSystem
import Policy
import Spool
import Testing

@testable import Drain

/// The counts and the events of a run, without a run.
struct RunTallyTests {
    private final class Told {
        var events = 0
    }

    private let told = Told()
    private let tally: RunTally

    init() {
        let told = told
        tally = RunTally(clock: RunClock.ofProcess(now: { Timestamp(microseconds: 0) })) { _ in told.events += 1 }
    }

    private func error(_ kind: SpoolError.Kind, _ code: Int32) -> SpoolError {
        SpoolError(kind: kind, verb: "claim", path: "new", code: code)
    }

    @Test func `a full disk is told once and counted each time`() {
        for _ in 0..<3 { tally.inputOutput(error(.io, ENOSPC)) }
        #expect(tally.summary.inputOutputErrors == 3 && told.events == 1)
        #expect(tally.summary.end == .done)
    }

    @Test func `a repeated error is told once and counted each time`() {
        for _ in 0..<3 { tally.inputOutput(error(.newerFormat(2), 0)) }
        #expect(tally.summary.inputOutputErrors == 3 && told.events == 1)
        #expect(tally.summary.end == .done)
    }

    @Test func `a lost lock ends the run and counts once`() {
        for _ in 0..<3 { tally.inputOutput(error(.lostLock, ENOENT)) }
        #expect(tally.summary.inputOutputErrors == 1 && told.events == 1)
        #expect(tally.hasLostLock && tally.summary.end != .done)
    }

    @Test func `the run keeps the first reason to end`() {
        tally.agentsFailed("no agent")
        tally.endRun(because: error(.io, EIO))
        #expect(tally.summary.end == .broken("no agent"))
        #expect(tally.summary.inputOutputErrors == 2 && told.events == 2)
    }
}
