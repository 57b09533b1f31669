import CSystem
import Foundation
import Policy
import Spool
import Testing

/// `state/`: the memory of runs, and the locks.
struct StateTests {
    /// The names in `state/` of every queue, without the spare directory of a run: locks, and the reserve.
    private static let locks = ["format", "lock", "names.lock", "reserve", "sequence.lock"]

    let queue: TemporaryQueue

    init() throws {
        queue = try TemporaryQueue()
    }

    @Test func `a read returns the state that was written last`() throws {
        let open = try queue.open()
        #expect(try open.readState("destinations") == nil)
        try open.writeState("destinations", [1, 2])
        try open.writeState("destinations", [3])
        #expect(try open.readState("destinations") == [3])
        #expect(queue.names("tmp").isEmpty)
        try FileManager.default.createDirectory(atPath: queue.path + "/state/odd", withIntermediateDirectories: true)
        let error = #expect(throws: SpoolError.self) { try open.readState("odd") }
        #expect(error?.description == "cannot read 'state/odd': it is a directory")
    }

    @Test(arguments: [true, false])
    func `a change sees the present state, and nil leaves the state unchanged`(durable: Bool) throws {
        let open = try queue.open()
        #expect(try open.updateState("x", durable: durable) { $0 == nil ? [1] : nil } == [1])
        #expect(try open.updateState("x", durable: durable) { $0.map { $0 + [2] } } == [1, 2])
        #expect(try open.updateState("x", durable: durable) { _ in nil } == [1, 2])
        #expect(try open.updateState("none", durable: durable) { _ in nil } == nil)
        #expect(try open.readState("x") == [1, 2] && open.readState("none") == nil)
        #expect(queue.names("state") == Self.locks + ["spare", "x"])
    }

    @Test func `a durable change is synced before and after the rename, any other change never`() throws {
        let calls = InterceptedCalls()
        let open = try queue.open(calls.calls)
        for (durable, expected) in [(true, ["write", "fsync", "rename", "fsync"]), (false, ["write", "rename"])] {
            calls.reset()
            _ = try open.updateState("x", durable: durable) { _ in [1] }
            #expect(calls.log.filter { ["write", "fsync", "rename"].contains($0) } == expected)
        }
    }

    @Test func `a rename whose reply was lost counts as done`() throws {
        let calls = InterceptedCalls()
        let open = try queue.open(calls.calls)
        calls.reset(.lie("rename", ENOENT, at: 1))
        try open.writeState("x", [1])
        calls.reset(.lie("rename", ENOENT, at: 1))
        try open.publish([2], at: "\(queue.path)/published")
        #expect(queue.bytes("state/x") == [1] && queue.bytes("published") == [2])
        calls.reset(.always("rename", ENOENT))
        #expect(throws: SpoolError.self) { try open.writeState("x", [3]) }
    }

    @Test func `no change of concurrent writers is lost`() async throws {
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask { [path = queue.path] in
                    #expect(throws: Never.self) {
                        let open = try SpoolDirectory(opening: path)
                        for _ in 0..<25 {
                            _ = try open.updateState("count", durable: false) { [($0?.first ?? 0) + 1] }
                        }
                    }
                }
            }
        }
        #expect(try queue.open().readState("count") == [100])
    }

    @Test func `a change waits two seconds for a writer that never ends, and no longer`() throws {
        var waited: Duration = .zero
        var system = SystemCalls.real
        system.sleep = { waited += $0 }
        let waiting = try queue.open(system)
        var error: SpoolError?
        _ = try queue.open().updateState("x", durable: false) { _ in
            do throws(SpoolError) {
                _ = try waiting.updateState("x", durable: false) { _ in [9] }
            } catch let thrown {
                error = thrown
            }
            return [1]
        }
        #expect(error?.description == "cannot lock 'state/lock': \(Errno(EWOULDBLOCK))")
        #expect(waited == .seconds(2))
        #expect(try waiting.updateState("x", durable: false) { $0.map { $0 + [2] } } == [1, 2])
    }

    @Test(arguments: [true, false])
    func `after a crash or an error at any call the old or the new state is there, whole`(isCrash: Bool) throws {
        let old = [UInt8](repeating: 1, count: 5000)
        let new = [UInt8](repeating: 2, count: 6000)
        for index in 1... {
            let fresh = try TemporaryQueue()
            try fresh.open().writeState("x", old)
            let calls = InterceptedCalls()
            var result: [UInt8]?
            do {
                let open = try fresh.open(calls.calls)
                calls.reset(isCrash ? .crash(at: index) : .error(EIO, at: index))
                result = try? open.updateState("x", durable: true) { $0 == old ? new : nil }
            }
            #expect(calls.descriptors.isEmpty)
            let standing = try fresh.open().readState("x")
            #expect(standing == new || standing == old && result == nil)
            #expect(try fresh.open().updateState("x", durable: false) { $0.map { $0 + [3] } } == standing! + [3])
            #expect(
                fresh.names("state") == Self.locks + ["spare", "x"])
            if calls.count < index { break }
        }
    }

    @Test func `a single run has the sequence lock of a destination, until the lock is released`() throws {
        let first = try queue.open()
        let second = try queue.open()
        let lock = try #require(try first.sequenceLock())
        #expect(try second.sequenceLock() == nil && first.sequenceLock() == nil)
        lock.release()
        lock.release()
        var other = try second.sequenceLock()
        #expect(try other != nil && first.sequenceLock() == nil)
        other = nil
        let again = try #require(try first.sequenceLock())
        #expect(try SequenceLocks(in: second).take(Digest(of: "another")) && again.has(Digest(of: "d")))
        var status = stat()
        let path = queue.path + "/state/sequences/\(Digest(of: "d"))"
        #expect(stat(path, &status) == 0 && status.st_mode & 0o7777 == 0o600)
    }

    @Test func `on a full disk the common lock stands for those of destinations`() throws {
        let full = InterceptedCalls()
        let (first, second) = (try queue.open(full.calls), try queue.open())
        full.reset(.always("makeDirectory", ENOSPC))
        let locks = SequenceLocks(in: first)
        #expect(try locks.take(Digest(of: "d")) && locks.take(Digest(of: "e")))
        #expect(try second.sequenceLock() == nil)
        locks.release(Digest(of: "d"))
        #expect(try second.sequenceLock() == nil)
        locks.release(Digest(of: "e"))
        #expect(try second.sequenceLock() != nil)
        #expect(try first.sequenceLock() != nil)
    }

    @Test func `a failure to take the sequence lock is an error, not a lock of another run`() throws {
        for call in ["open", "chmod", "lock"] {
            let fresh = try TemporaryQueue()
            try FileManager.default.removeItem(atPath: fresh.path + "/state/sequence.lock")
            let calls = InterceptedCalls()
            let open = try fresh.open(calls.calls)
            let standing = calls.descriptors
            calls.reset(.always(call, ENOLCK))
            let error = #expect(throws: SpoolError.self) { try open.sequenceLock() }
            #expect(error?.description == "cannot lock 'state/sequences/\(Digest(of: "d"))': \(Errno(ENOLCK))")
            #expect(calls.descriptors == standing)
        }
    }
}
