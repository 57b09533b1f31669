import CSystem
import Policy
import Spool
import Testing

struct FullDiskTests {
    let queue: TemporaryQueue
    let now = TemporaryQueue.now

    init() throws {
        queue = try TemporaryQueue()
    }

    @Test(arguments: [ENOSPC, EDQUOT, EFBIG])
    func `a run that cannot make its directory takes the spare directory, and gives the spare back`(code: Int32) throws
    {
        let calls = InterceptedCalls()
        let open = try queue.open(calls.calls)
        calls.reset(.always("makeDirectory", code))
        for id in ["a", "b"] {
            let entry = try queue.add([id])[0]
            let run = try open.beginRun(now: now)
            #expect(!queue.names("state").contains("spare"))
            let error = #expect(throws: SpoolError.self) { try open.beginRun(now: now) }
            #expect(error?.description == "cannot begin a run in 'claimed': \(Errno(code))")
            let claim = try #require(try run.claim(entry))
            #expect(try run.settle(claim, as: .delivered(keep: false)) == .gone)
            try run.end()
            #expect(queue.names("claimed").isEmpty && queue.names("state").contains("spare"))
        }
    }

    @Test func `recovery returns the claims of a run that died in the spare directory, and the spare is back`() throws {
        let entry = try queue.add(["a"])[0]
        let calls = InterceptedCalls()
        let open = try queue.open(calls.calls)
        calls.reset(.always("makeDirectory", ENOSPC))
        do {
            let run = try open.beginRun(now: now)
            _ = try #require(try run.claim(entry))
        }
        #expect(queue.names("claimed").count == 1)
        #expect(try queue.recover().returned.map(\.name.id) == [entry.name.id])
        #expect(queue.names("claimed").isEmpty && queue.names("state").contains("spare"))
    }

    @Test func `drop needs no space`() throws {
        let entries = try queue.add(["a", "b"])
        let calls = InterceptedCalls()
        let open = try queue.open(calls.calls)
        calls.reset(.always("makeDirectory", ENOSPC))
        #expect(try open.drop(entries[0]))
        #expect(try !open.drop(entries[0]))
        #expect(queue.names("new") == [entries[1].name.description])
    }

    @Test func `sync covers the run's directory before the directories that its open claims came from`() throws {
        var calls = SystemCalls.real
        var paths: [Int32: String] = [:]
        var synced: [String] = []
        let (open, sync) = (calls.open, calls.fsync)
        calls.open = { (directory, path, flags, mode) throws(Errno) in
            let descriptor = try open(directory, path, flags, mode)
            paths[descriptor] = String(cString: path)
            return descriptor
        }
        calls.fsync = { (descriptor) throws(Errno) in
            synced.append(paths[descriptor] ?? "")
            try sync(descriptor)
        }
        let entries = try queue.add(["a", "b"])
        let run = try queue.open(calls).beginRun(now: now)
        _ = try run.claim(entries[0])
        let second = try #require(try run.claim(entries[1]))
        _ = try run.settle(second, .deferred(until: now, countsAttempt: true), record: nil, now: now)
        synced = []
        try run.sync()
        #expect(synced == ["deferred", "claimed/\(run.name)", "new"])
        try run.end()
    }
}
