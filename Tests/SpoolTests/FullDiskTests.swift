import CSystem
import Foundation
import Spool
import Testing

@testable import Policy

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

    @Test func `without a spare directory a run goes on in the directory of a dead one, and does what its marks say`()
        throws
    {
        let entries = try queue.add(["gone", "failed", "begun", "claimed", "fresh"])
        try FileManager.default.removeItem(atPath: "\(queue.path)/state/spare")
        do {
            let dead = try queue.open().beginRun(now: now)
            let claims = try entries.dropLast().map { try #require(try dead.claim($0)) }
            dead.begin(Array(claims.dropLast()))
            _ = try dead.receipt(for: [claims[0]])
            _ = try dead.settle(claims[1], as: .failed(countsAttempt: true))
        }
        let calls = InterceptedCalls()
        let open = try queue.open(calls.calls)
        calls.reset(.always("makeDirectory", ENOSPC))

        // A send tells of nothing: it leaves the directory, with the marks of what a run has to tell.
        let send = try open.beginRun(now: nil)
        _ = try send.recover(now: now)
        try send.end()
        #expect(queue.names("claimed").count == 1)

        let run = try open.beginRun(now: now)
        var told: [OperationID] = []
        let recovery = try run.recover(
            now: now,
            telling: {
                told += $0.map(\.entry.name.id)
                return true
            })
        #expect(told == entries[0...1].map(\.name.id) && recovery.delivered.isEmpty && recovery.returned.isEmpty)
        #expect(queue.text("claimed/\(run.name)/lock")?.contains("!") == false)
        let claim = try #require(try run.claim(entries[4]))
        #expect(try run.settle(claim, as: .delivered(keep: false)) == .gone)
        try run.end()
        #expect(queue.names("claimed").isEmpty && queue.names("state").contains("spare"))
        #expect(queue.names("failed").count == 1 && queue.names("delivered").isEmpty)
        let left = queue.names("new") + queue.names("deferred")
        #expect(left.count == 2 && left.filter { $0.contains("-begun") && $0.contains(",i=1") }.count == 1)
    }

    @Test func `a file of state is written in the room of the reserve, which is made again`() throws {
        let reserve = { queue.bytes("state/reserve") ?? [] }
        try queue.open().writeState("x", [1])
        #expect(reserve().count == 64 << 10)
        let real = SystemCalls.real
        var calls = real
        calls.write = { (descriptor, bytes) throws(Errno) in
            if !reserve().isEmpty { throw Errno(ENOSPC) }
            return try real.write(descriptor, bytes)
        }
        let open = try queue.open(calls)
        for value: UInt8 in 2...4 {
            #expect(try open.updateState("x", durable: value == 2) { $0.map { $0 + [value] } }?.last == value)
            #expect(reserve().count == 64 << 10)
        }
        #expect(queue.bytes("state/x") == [1, 2, 3, 4])
        // The next value of another key would find no room.
        let kept = KeptValues(values: ["id": KeptValue(json: Array("7".utf8))!])
        let age = Age(createdAt: now, id: OperationID("a")!)
        #expect(throws: SpoolError.self) { try open.keep(kept, of: age, for: "k", at: now) }
        #expect(reserve().count == 64 << 10)
        try FileManager.default.removeItem(atPath: "\(queue.path)/state/reserve")
        try queue.recover()
        #expect(reserve().count == 64 << 10)
    }

    @Test func `the values of an answer are kept before it counts as delivered, also without room for its record`()
        throws
    {
        let entry = try queue.add(["a"])[0]
        let calls = InterceptedCalls()
        let open = try queue.open(calls.calls)
        let run = try open.beginRun(now: now)
        let claim = try #require(try run.claim(entry))
        let request = run.begin([claim])
        var record = TemporaryQueue.record(.delivered)
        record.kept = ChainValues(chain: "k", kept: KeptValues(values: ["id": KeptValue(json: Array("7".utf8))!]))
        calls.reset(.once("write", ENOSPC))
        let receipt = try run.receipt(of: request, for: [(claim, record)], keep: false)
        #expect(receipt.isMarked && calls.log.count { $0 == "write" } > 1)
        #expect(try open.keptValues(of: Digest(of: "k"))["id"]?.json == "7")
        // The same values again need no room.
        calls.reset(.always("write", ENOSPC))
        #expect(try open.keep(record.kept!.kept, of: Age(entry.name), for: "k", at: now + .seconds(1)).isEmpty)
        calls.reset()
        _ = try run.settle(claim, .delivered(keep: false), record: record, receipt: receipt, now: now)
        try run.end()
    }

    @Test func `the proof of room to keep values asks for the room of all of them, twice`() throws {
        let real = SystemCalls.real
        for (values, isRoom) in [(1, true), (12, false)] {
            var (calls, free) = (real, 20_000)
            calls.write = { (descriptor, bytes) throws(Errno) in
                free -= bytes.count
                if free < 0 { throw Errno(ENOSPC) }
                return try real.write(descriptor, bytes)
            }
            let open = try queue.open(calls)
            do throws(SpoolError) {
                try open.proveRoomToKeep(values: values)
                #expect(isRoom)
            } catch {
                #expect(!isRoom && error.isFullDisk)
            }
        }
        #expect(queue.names("state/keys").isEmpty)
    }

    @Test func `the spare directory keeps no marks of its earlier owner`() throws {
        let entry = try queue.add(["a"])[0]
        try FileManager.default.removeItem(atPath: "\(queue.path)/state/spare")
        let run = try queue.open().beginRun(now: now)
        let claim = try #require(try run.claim(entry))
        run.begin([claim])
        _ = try run.settle(claim, as: .failed(countsAttempt: true))
        #expect(queue.text("claimed/\(queue.names("claimed")[0])/lock")?.contains("\(entry.name)") == true)
        try run.end()
        let text = try #require(queue.text("state/spare/lock"))
        #expect(!text.isEmpty && text.allSatisfy { $0 == "\n" })
    }

    @Test(arguments: [
        Disposition.deferred(until: TemporaryQueue.now, countsAttempt: true), .held, .failed(countsAttempt: true),
    ])
    func `without room for its record the name says that a request may have arrived`(disposition: Disposition) throws {
        for (status, unknowns) in [(504, 1), (503, 0)] {
            let entry = try queue.add(["a\(status)"])[0]
            let calls = InterceptedCalls()
            let run = try queue.open(calls.calls).beginRun(now: now)
            let claim = try #require(try run.claim(entry))
            calls.reset(.always("write", ENOSPC))
            let record = AttemptRecord(
                at: now, duration: .zero, outcome: .deferred, status: status, rule: "\(status)")
            guard case .moved(let moved) = try run.settle(claim, as: disposition, record: record) else {
                throw Errno(0)
            }
            #expect(moved.name.unknowns == unknowns)
            calls.reset()
            try run.end()
        }
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
