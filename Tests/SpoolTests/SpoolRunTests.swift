import CSystem
import Foundation
import Spool
import Testing

@testable import Policy

struct SpoolRunTests {
    let queue: TemporaryQueue
    let now = TemporaryQueue.now

    init() throws {
        queue = try TemporaryQueue()
    }

    func stored(_ file: StoredFile?) throws -> Policy.Operation {
        guard case .operation(let stored) = file else {
            throw OperationFileError(file: "", line: 0, reason: "\(file as Any)")
        }
        return stored.operation
    }

    @Test func `a claim belongs to a single run, and a lost claim is no error`() throws {
        let entry = try queue.add(["a"])[0]
        let first = try queue.open().beginRun(now: now)
        let second = try queue.open().beginRun(now: now)
        let claim = try #require(try first.claim(entry))
        #expect(try second.claim(entry) == nil && first.claim(entry) == nil)
        #expect(try first.claim(Entry(state: .failed, name: entry.name)) == nil)
        #expect(try stored(first.read(claim)) == queue.operation("a"))
        try first.end()
        #expect(try second.claim(entry) != nil)
        try second.end()
        #expect(queue.names("claimed").isEmpty && queue.names("new").count == 1)
    }

    @Test func `a claim whose rename worked despite an error is won`() throws {
        let entry = try queue.add(["a"])[0]
        for code in [ENOENT, EIO] {
            let calls = InterceptedCalls()
            let run = try queue.open(calls.calls).beginRun(now: now)
            calls.reset(.lie("rename", code, at: 1))
            #expect(try run.claim(entry) != nil)
            try run.end()
        }
        let calls = InterceptedCalls()
        let run = try queue.open(calls.calls).beginRun(now: now)
        calls.reset(.always("rename", EACCES))
        let error = #expect(throws: SpoolError.self) { try run.claim(entry) }
        #expect(error?.description == "cannot claim '\(entry.path)': Permission denied")
        calls.reset(.lie("renameNoReplace", EIO, at: 1))
        _ = try run.settle(#require(try run.claim(entry)), .putBack, record: nil, now: now)
        #expect(queue.bytes(entry.path) != nil)
    }

    @Test func `each disposition leads to its state, durable after sync`() throws {
        let until = now + .seconds(30)
        let later = now + .seconds(60)
        let record = TemporaryQueue.record()
        let all: [(Disposition, (EntryName) -> Settled)] = [
            (.delivered(keep: false), { _ in .gone }),
            (.delivered(keep: true), { .moved(Entry(state: .delivered, name: $0)) }),
            (
                .deferred(until: until, countsAttempt: true),
                { name in
                    var name = name
                    name.attempts = 1
                    name.gate = .retryAt(
                        EntryName(EntryName(createdAt: name.createdAt, id: name.id, gate: .retryAt(until)).description)!
                            .dueTime!)
                    return .moved(Entry(state: .deferred, name: name))
                }
            ),
            (
                .deferred(until: later, countsAttempt: false),
                { name in
                    var name = name
                    name.gate = .retryAt(later.roundedUpToMilliseconds)
                    return .moved(Entry(state: .deferred, name: name))
                }
            ),
            (.putBack, { .moved(Entry(state: .new, name: $0)) }),
            (
                .held,
                { name in
                    var name = name
                    name.isHeld = true
                    return .moved(Entry(state: .new, name: name))
                }
            ),
            (
                .failed(countsAttempt: true),
                { name in
                    var name = name
                    name.attempts = 1
                    return .moved(Entry(state: .failed, name: name))
                }
            ),
            (.failed(countsAttempt: false), { .moved(Entry(state: .failed, name: $0)) }),
        ]
        let entries = try queue.add(all.indices.map { "o\($0)" })
        let calls = InterceptedCalls()
        let open = try queue.open(calls.calls)
        let run = try open.beginRun(now: now)
        for (entry, (disposition, expected)) in zip(entries, all) {
            let claim = try #require(try run.claim(entry))
            calls.reset()
            let settled = try run.settle(claim, as: disposition, record: disposition == .putBack ? nil : record)
            #expect(settled == expected(entry.name))
            #expect(!calls.log.contains("fsync"))
            if case .moved(let target) = settled {
                let attempts = try stored(open.read(target)).attempts
                #expect(attempts == (disposition == .putBack ? [] : [record]))
            }
        }
        calls.reset()
        try run.sync()
        #expect(calls.log.filter { $0 == "fsync" }.count == 5)
        calls.reset()
        try run.sync()
        #expect(calls.log.isEmpty)
        try run.end()
        #expect(queue.names("claimed").isEmpty)
    }

    @Test func `a refused operation of send is durably gone once sync has answered`() throws {
        let added = try queue.add(["old", "newer"])
        let calls = InterceptedCalls()
        let run = try queue.open(calls.calls).beginRun(now: nil)
        let claim = try #require(try run.claim(added[0]))
        let place = Entry(state: .claimed, name: added[0].name, claimedBy: run.name)
        #expect(try run.settle(claim, as: .failed(countsAttempt: true)) == .moved(place))
        calls.reset(.always("unlink", EIO))
        #expect(throws: SpoolError.self) { try run.refuse(claim, because: nil, at: now) }
        #expect(run.isUntold(claim))
        // Gone already, as after a lost answer.
        calls.reset(.lie("unlink", ENOENT, at: 1))
        try run.refuse(claim, because: nil, at: now)
        #expect(!run.isUntold(claim))
        calls.reset()
        try run.sync()
        // The first call looks for the mark of processes with a count.
        #expect(calls.log == ["open", "open", "fsync", "open", "fsync"])
        try run.end()
        #expect(try queue.entries() == [added[1]])
    }

    @Test func `the hold of an operation ends with its delivery or failure`() throws {
        var entries = try queue.add(["a", "b", "c"])
        entries = try entries.map { try #require(try queue.open().hold($0)) }
        let run = try queue.open().beginRun(now: now)
        for (entry, disposition) in zip(
            entries, [Disposition.delivered(keep: true), .failed(countsAttempt: false), .putBack])
        {
            _ = try run.settle(#require(try run.claim(entry)), as: disposition)
        }
        try run.end()
        #expect(
            try queue.entries().map { "\($0.state) \($0.name.isHeld)" }.sorted() == [
                "delivered false", "failed false", "new true",
            ])
    }

    @Test func `read returns a bad file as a result, and settle quarantines the file with its reason`() throws {
        let run = try queue.open().beginRun(now: now)
        func name(_ id: String) -> EntryName { EntryName(createdAt: now, id: OperationID(id)!) }
        let good = OperationFile.encode(queue.operation("x"))
        try queue.put("", at: "new/\(name("empty"))")
        try queue.put(Array(good.dropLast(5)), at: "new/\(name("truncated"))")
        try queue.put(good, at: "new/\(name("other"))")
        try FileManager.default.createDirectory(
            atPath: "\(queue.path)/new/\(name("directory"))", withIntermediateDirectories: false)
        symlink("/etc/passwd", "\(queue.path)/new/\(name("link"))")
        mkfifo("\(queue.path)/new/\(name("fifo"))", 0o600)
        try queue.put(OperationFile.encode(queue.operation("hard")), at: "hard")
        link("\(queue.path)/hard", "\(queue.path)/new/\(name("hard"))")
        let reasons = [
            "empty": "it is empty", "truncated": "line 2: it is truncated: the body has 6 of 10 bytes",
            "other": "ids in conflict: 'other' in the name, 'x' in the header",
            "directory": "it is a directory",
            "link": "it is a symbolic link", "fifo": "it is a FIFO",
            "hard": "it has another name outside the queue's reach (a hard link)",
        ]
        for (id, reason) in reasons {
            let claim = try #require(try run.claim(Entry(state: .new, name: name(id))))
            #expect(try run.read(claim) == .notAnOperation(reason: reason))
            guard
                case .quarantined(let item) = try run.settle(claim, .quarantined(reason: reason), record: nil, now: now)
            else { throw Errno(0) }
            #expect(item.name == name(id) && item.reason == reason && item.source == "claimed" && item.at == now)
        }
        try run.end()
        let items = try queue.open().quarantined()
        #expect(Set(items.map(\.reason)) == Set(reasons.values) && items.count == reasons.count)
        #expect(queue.names("new").isEmpty)
    }

    @Test func `a newer format and a vanished claim are not taken for bad files`() throws {
        let name = EntryName(createdAt: now, id: OperationID("a")!)
        try queue.put("{\"drainq\":2}\n", at: "new/\(name)")
        let run = try queue.open().beginRun(now: now)
        let claim = try #require(try run.claim(Entry(state: .new, name: name)))
        #expect(try run.read(claim) == .newerFormat(2))
        unlink("\(queue.path)/claimed/\(run.name)/\(name)")
        #expect(throws: SpoolError.self) { try run.read(claim) }
        // A file that is gone already counts as removed.
        #expect(try run.settle(claim, as: .delivered(keep: false)) == .gone)
    }

    @Test(arguments: [EIO, EMFILE, ENOSPC])
    func `read throws a system error, and does not turn the error into a reason for quarantine`(code: Int32) throws {
        let entry = try queue.add(["a"])[0]
        let calls = InterceptedCalls()
        let run = try queue.open(calls.calls).beginRun(now: now)
        let claim = try #require(try run.claim(entry))
        for call in ["open", "read", "status"] {
            calls.reset(.always(call, code))
            #expect(throws: SpoolError.self) { try run.read(claim) }
        }
        calls.reset()
        try run.end()
        #expect(queue.bytes(entry.path) != nil)
    }

    @Test func `an attempt counts although its record cannot be written`() throws {
        let entry = try queue.add(["a"])[0]
        let calls = InterceptedCalls()
        let open = try queue.open(calls.calls)
        let run = try open.beginRun(now: now)
        for call in ["open", "read", "write"] {
            var at = entry
            try open.forEachEntry(in: .deferred) { at = $0 }
            let claim = try #require(try run.claim(at))
            calls.reset(.always(call, ENOSPC))
            _ = try run.settle(
                claim, .deferred(until: now, countsAttempt: true), record: TemporaryQueue.record(), now: now)
            calls.reset()
        }
        var last: Entry?
        try open.forEachEntry(in: .deferred) { last = $0 }
        #expect(last?.name.attempts == 3)
        #expect(try stored(open.read(#require(last))) == queue.operation("a"))
    }

    @Test func `an operation full of attempt records stays an operation, and still records its end`() throws {
        let entry = try queue.add(["a"])[0]
        let line = OperationFile.encode(TemporaryQueue.record())
        let lines = Data(Array(repeating: line, count: SpoolRun.mostOfRecords / line.count + 1).joined())
        let handle = try #require(FileHandle(forWritingAtPath: "\(queue.path)/\(entry.path)"))
        try handle.seekToEnd()
        try handle.write(contentsOf: lines)
        let length = try handle.offset()
        try handle.close()
        let run = try queue.open().beginRun(now: now)
        func settle(_ entry: Entry, _ disposition: Disposition, _ record: AttemptRecord) throws -> Entry {
            let claim = try #require(try run.claim(entry))
            guard case .moved(let moved) = try run.settle(claim, as: disposition, record: record) else {
                throw Errno(0)
            }
            return moved
        }
        func size(_ entry: Entry) throws -> UInt64 {
            let attributes = try FileManager.default.attributesOfItem(atPath: "\(queue.path)/\(entry.path)")
            return try #require(attributes[.size] as? UInt64)
        }
        let deferred = try settle(entry, .deferred(until: now, countsAttempt: true), TemporaryQueue.record())
        #expect(try size(deferred) == length && deferred.name.attempts == 1)
        // The end of the operation is recorded all the same.
        let failed = try settle(deferred, .failed(countsAttempt: true), TemporaryQueue.record(.failed))
        #expect(try size(failed) > length)
        #expect(try stored(queue.open().read(failed)).attempts.last?.outcome == .failed)
    }

    @Test func `the next record closes a torn line`() throws {
        let entry = try queue.add(["a"])[0]
        let handle = try #require(FileHandle(forWritingAtPath: "\(queue.path)/\(entry.path)"))
        try handle.seekToEnd()
        try handle.write(contentsOf: Data("{\"at\":".utf8))
        try handle.close()
        let run = try queue.open().beginRun(now: now)
        let record = TemporaryQueue.record(.failed)
        guard
            case .moved(let failed) = try run.settle(
                #require(try run.claim(entry)), .failed(countsAttempt: true), record: record, now: now)
        else { throw Errno(0) }
        #expect(try stored(queue.open().read(failed)).attempts == [record])
    }

    @Test
    func `a failed removal after delivery is repeated once, then thrown, and the operation is marked as delivered`()
        throws
    {
        let entries = try queue.add(["a", "b"])
        let calls = InterceptedCalls()
        let run = try queue.open(calls.calls).beginRun(now: now)
        let claims = try entries.map { try #require(try run.claim($0)) }
        let receipt = try run.receipt(for: claims)
        func settle(_ claim: Claim) throws -> Settled {
            try run.settle(claim, .delivered(keep: false), record: nil, receipt: receipt, now: now)
        }
        calls.reset(.error(EIO, at: 1))
        #expect(try settle(claims[0]) == .gone)
        calls.reset(.always("unlink", EIO))
        let error = #expect(throws: SpoolError.self) { try settle(claims[1]) }
        #expect(error?.kind == .notRemovedAfterDelivery && error?.hint != nil)
        #expect(error?.description == "cannot remove 'claimed/\(run.name)/\(entries[1].name)': \(Errno(EIO))")
        #expect(calls.log == ["unlink", "unlink"])

        // The file stays at the path of the error, and no run sends the operation again.
        calls.reset()
        try run.end()
        #expect(try queue.entries().map(\.claimedBy) == [run.name])
        let next = try queue.open().beginRun(now: now)
        let recovery = try next.recover(now: now)
        #expect(recovery.delivered == [entries[1].name] && recovery.returned.isEmpty)
        try next.end()
        #expect(try queue.entries().isEmpty)
    }

    @Test func `an operation that a run has failed is taken back under the name of its claim`() throws {
        let entry = try queue.add(["a"])[0]
        let run = try queue.open().beginRun(now: now)
        let claim = try #require(try run.claim(entry))
        let disposition = Disposition.failed(countsAttempt: true)
        guard case .moved(let failed) = try run.settle(claim, as: disposition) else { throw Errno(0) }
        #expect(!claim.isOpen)
        // An operator's command that has found it in failed/ finishes before.
        _ = try queue.open().withNamesLock { () throws(SpoolError) in
            #expect(throws: SpoolError.self) { try run.takeBack(failed, as: claim, patience: .zero) }
        }
        #expect(try run.takeBack(failed, as: claim, patience: .zero) && claim.isOpen)
        #expect(try run.settle(claim, as: .putBack) == .moved(entry))
        // An operator may have been faster.
        #expect(try !run.takeBack(failed, as: claim, patience: .zero) && !claim.isOpen)
        try run.end()
        #expect(try queue.entries() == [entry])
    }

    @Test func `a failed copy after delivery does not put the operation back`() throws {
        let entry = try queue.add(["a"])[0]
        let calls = InterceptedCalls()
        let run = try queue.open(calls.calls).beginRun(now: now)
        let claim = try #require(try run.claim(entry))
        calls.reset(.always("renameNoReplace", ENOSPC))
        let settled = try run.settle(claim, as: .delivered(keep: true), record: TemporaryQueue.record(.delivered))
        guard case .unkept(let error) = settled else { throw Errno(0) }
        #expect(error.isFullDisk && error.description.contains("cannot keep a copy in 'delivered/"))
        try run.end()
        #expect(try queue.entries().isEmpty)
    }

    @Test func `equal files of a name become a single file, and a different file goes to quarantine`() throws {
        let entry = try queue.add(["a"])[0]
        let run = try queue.open().beginRun(now: now)
        let claim = try #require(try run.claim(entry))
        try queue.put(OperationFile.encode(queue.operation("a")), at: entry.path)
        #expect(try run.settle(claim, .putBack, record: nil, now: now) == .moved(entry))
        let again = try #require(try run.claim(entry))
        try queue.put(OperationFile.encode(queue.operation("a", body: "other")), at: entry.path)
        guard case .quarantined(let item) = try run.settle(again, .putBack, record: nil, now: now) else {
            throw Errno(0)
        }
        #expect(item.name == nil && item.originalName == entry.name.description)
        #expect(item.reason == "ids in conflict: another operation has the name '\(entry.name)'")
        try run.end()
        #expect(queue.names("new").count == 1 && queue.names("quarantine").count == 2)
    }

    @Test func `a failing sync is thrown, and the rest is synced`() throws {
        let entry = try queue.add(["a"])[0]
        let calls = InterceptedCalls()
        let run = try queue.open(calls.calls).beginRun(now: now)
        _ = try run.claim(entry)
        calls.reset(.always("fsync", EIO))
        let error = #expect(throws: SpoolError.self) { try run.end() }
        #expect(error?.kind == .io && calls.log.filter { $0 == "fsync" }.count == 2)
        #expect(queue.bytes(entry.path) != nil && queue.names("claimed").isEmpty)
    }

    @Test func `a claim that end cannot put back is left to the next run`() throws {
        let entry = try queue.add(["a"])[0]
        let calls = InterceptedCalls()
        let run = try queue.open(calls.calls).beginRun(now: now)
        _ = try run.claim(entry)
        calls.reset(.always("renameNoReplace", EIO))
        #expect(throws: SpoolError.self) { try run.end() }
        #expect(try queue.recover().returned.count == 1)
    }

    @Test func `a run claims nothing until its directory is synced`() throws {
        let entry = try queue.add(["a"])[0]
        let calls = InterceptedCalls()
        let first = try queue.open(calls.calls).beginRun(now: now)
        calls.reset(.always("fsync", EIO))
        #expect(throws: SpoolError.self) { try first.claim(entry) }
        // A second sync would report success, and would be wrong.
        calls.reset()
        #expect(throws: SpoolError.self) { try first.claim(entry) }
        #expect(queue.bytes(entry.path) != nil)
        try first.end()
        let second = try queue.open(calls.calls).beginRun(now: now)
        calls.reset()
        #expect(try second.claim(entry) != nil)
        #expect(calls.log.filter { $0 == "fsync" || $0 == "rename" } == ["fsync", "rename"])
        try second.end()
    }

    @Test func `a run that cannot lock or write does not begin`() throws {
        for call in ["makeDirectory", "lock"] {
            let calls = InterceptedCalls()
            let open = try queue.open(calls.calls)
            calls.reset(.always(call, EROFS))
            let error = #expect(throws: SpoolError.self) { try open.beginRun(now: now) }
            #expect(error?.description == "cannot begin a run in 'claimed': Read-only file system")
        }
        #expect(queue.names("claimed").isEmpty)
        let calls = InterceptedCalls()
        let open = try queue.open(calls.calls)
        calls.reset(.always("makeDirectory", ENOENT))
        #expect(throws: SpoolError.self) { try open.beginRun(now: now) }
    }
}

extension EntryName {
    var dueTime: Timestamp? {
        if case .retryAt(let time) = gate { time } else { nil }
    }
}
