import CSystem
import Spool
import Testing

@testable import Policy

/// `state/runs`, in which each run writes its time.
struct RunsTests {
    private let now = Timestamp(rfc3339: "2026-12-05T12:00:00Z")!

    @Test func `each run leaves its time, and only one after a while returns the times before it`() throws {
        let queue = try TemporaryQueue()
        let spool = try queue.open()
        #expect(try spool.runTimes().times.isEmpty)
        #expect(spool.noteRun(at: now)?.times.isEmpty == true)
        for minute in 1...30 { #expect(spool.noteRun(at: now + .seconds(60 * minute)) == nil) }
        let later = now + .seconds(7200)
        let before = try #require(spool.noteRun(at: later))
        #expect(before.times.count == 31 && before.last(at: later) == now + .seconds(1800))
        #expect(try spool.runTimes().last(at: later) == later)
    }

    @Test func `a run writes its time once, and syncs nothing for it`() throws {
        let queue = try TemporaryQueue()
        let spool = try queue.open()
        _ = spool.noteRun(at: now)
        var calls: [String] = []
        var system = SystemCalls.real
        system.writeAt = { (descriptor, bytes, offset) throws(Errno) in
            calls.append("writeAt")
            return try SystemCalls.real.writeAt(descriptor, bytes, offset)
        }
        system.fsync = { (_) throws(Errno) in calls.append("fsync") }
        system.rename = { (_, _, _, _) throws(Errno) in calls.append("rename") }
        let slow = try queue.open(system)
        _ = slow.noteRun(at: now + .seconds(60))
        #expect(calls == ["writeAt"])
    }

    @Test func `a file that cannot be written costs the run nothing`() throws {
        let queue = try TemporaryQueue()
        var system = SystemCalls.real
        system.writeAt = { (_, _, _) throws(Errno) in throw Errno(ENOSPC) }
        #expect(try queue.open(system).noteRun(at: now) == nil)
    }

    @Test func `a pause has its beginning and its user, and pausing again changes nothing`() throws {
        let queue = try TemporaryQueue()
        let spool = try queue.open()
        #expect(try spool.pause == nil && spool.setPaused(false) == false)
        #expect(try spool.setPaused(true, by: "ada", at: now))
        let pause = try #require(try spool.pause)
        #expect(try pause.user == "ada" && spool.setPaused(true, by: "bob", at: now + .seconds(1)) == false)
        #expect(try spool.pause?.user == "ada" && spool.pause?.since == pause.since)
        #expect(try spool.setPaused(false) && spool.pause == nil)
    }
}
