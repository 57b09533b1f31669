import CSystem
import Foundation
import Spool
import Testing

@testable import Policy

struct OperatorTests {
    let queue: TemporaryQueue
    let now = TemporaryQueue.now
    private let rule = AdmissionRule(Configuration())

    init() throws {
        queue = try TemporaryQueue()
    }

    func settled(_ id: String, _ disposition: Disposition) throws -> Entry {
        let entry = try queue.add([id])[0]
        let run = try queue.open().beginRun(now: now)
        let settled = try run.settle(#require(try run.claim(entry)), as: disposition)
        try run.end()
        switch settled {
        case .moved(let entry): return entry
        case .quarantined(let item): return Entry(state: .quarantine, name: try #require(item.name))
        case .gone, .unkept: return entry
        }
    }

    @Test(arguments: [
        (Disposition.failed(countsAttempt: true), "deferred"),
        (.deferred(until: TemporaryQueue.now + .seconds(3600), countsAttempt: true), "deferred"),
        (.delivered(keep: true), "deferred"), (.quarantined(reason: "x"), "new"), (.putBack, "new"),
    ])
    func `a retried operation is due, with all its attempts`(disposition: Disposition, home: String) throws {
        let entry = try settled("a", disposition)
        let result = try #require(try queue.open().retry(entry, now: now))
        #expect(result.state.rawValue == home && result.name.attempts == 0)
        #expect(result.name.gate == (home == "new" ? .open : .retryAt(now.roundedUpToMilliseconds)))
        #expect(try queue.entries() == [result] && queue.names("quarantine").isEmpty)
        if result != entry { #expect(try queue.open().retry(entry, now: now) == nil) }
    }

    @Test(arguments: [Disposition.failed(countsAttempt: true), .putBack, .quarantined(reason: "x")])
    func `a dropped operation is gone, and a second drop is no error`(disposition: Disposition) throws {
        let entry = try settled("a", disposition)
        #expect(try queue.open().drop(entry))
        #expect(try !queue.open().drop(entry))
        #expect(try queue.entries().isEmpty && queue.names("quarantine").isEmpty && queue.names("tmp").isEmpty)
    }

    @Test func `an operation claimed since the listing is not dropped, held, released or retried`() throws {
        let entry = try queue.add(["a"])[0]
        let run = try queue.open().beginRun(now: now)
        _ = try run.claim(entry)
        let claimed = try queue.entries()
        #expect(try !queue.open().drop(entry) && queue.open().hold(entry) == nil)
        #expect(try queue.open().release(entry, now: now) == nil)
        #expect(try queue.open().retry(Entry(state: .failed, name: entry.name), now: now) == nil)
        #expect(try queue.entries() == claimed)
    }

    @Test func `quarantine keeps bad input with its reason, and retry reads the input again as its command did`() throws
    {
        let item = try queue.open().keepBadInput(
            [.init([0x35], reason: "line 3: \u{1B}", source: "add", reading: Reading(.payload))],
            by: rule, now: now)[0]
        #expect(try queue.open().quarantined() == [item])
        #expect(queue.bytes("quarantine/\(item.fileName)") == [0x35])
        #expect(try queue.open().retry(item, now: now))
        #expect(try !queue.open().retry(item, now: now))
        let entry = try #require(try queue.entries().first)
        #expect(entry.state == .new && entry.name.id == item.id && entry.name.createdAt == now)
        #expect(queue.names("quarantine").isEmpty)
    }

    @Test func `input that comes out of quarantine is in a single place after a crash at any call`() throws {
        for index in 1... {
            let queue = try TemporaryQueue()
            let item = try queue.open().keepBadInput(
                [.init([0x35], reason: "no", source: "add", reading: Reading(.payload))], by: rule, now: now)[0]
            let calls = InterceptedCalls()
            do {
                let open = try queue.open(calls.calls)
                calls.reset(.crash(at: index))
                _ = try? open.retry(item, now: now)
            }
            // The next command, in a queue without an order.
            try queue.open().withNamesLock { () throws(SpoolError) in }
            #expect(try queue.names("new").count + queue.open().quarantined().count == 1, "call \(index)")
            if calls.count < index { break }
        }
    }

    @Test func `a retry as the newest keeps that a request may have arrived, although its records go`() throws {
        for (status, unknowns) in [(504, 1), (404, 0)] {
            let entry = try queue.add(["a\(status)"])[0]
            let run = try queue.open().beginRun(now: now)
            let claim = try #require(try run.claim(entry))
            let record = AttemptRecord(at: now, duration: .zero, outcome: .failed, status: status, rule: "\(status)")
            guard case .moved(let failed) = try run.settle(claim, as: .failed(countsAttempt: true), record: record)
            else { throw Errno(0) }
            try run.end()
            var control = AdmissionControl(Configuration())
            let renewed = try queue.open().retryAsNewest(failed, within: &control, now: now + .seconds(60))
            #expect(renewed?.name.unknowns == unknowns)
        }
    }

    @Test func `a process that adds dates a value after a retry as the newest, although the clock was set back`() throws
    {
        var configuration = Configuration()
        configuration.defaultRoute.coalesce = true
        let adding = try queue.open()
        var adder = AdmissionControl(configuration)
        func add(_ id: String, at time: Timestamp) throws -> EntryName {
            var operation = queue.operation(id)
            operation.header.createdAt = time
            operation.header.key = "k"
            let submission = Submission(operation, hasOwnID: false, at: time, isDated: false)
            guard case .accepted(let name)? = try adding.accept([submission], within: &adder).results.first else {
                throw Errno(0)
            }
            return name
        }
        let dead = try add("dead", at: now)
        rename("\(queue.path)/new/\(dead)", "\(queue.path)/failed/\(dead)")
        _ = try add("ahead", at: now + .seconds(50))
        let second = try add("second", at: now)
        var control = AdmissionControl(configuration)
        let failed = Entry(state: .failed, name: dead)
        let renewed = try #require(
            try queue.open().retryAsNewest(failed, within: &control, now: now + .seconds(1)))
        #expect(second.createdAt < renewed.name.createdAt)
        #expect(try renewed.name.createdAt < add("last", at: now + .seconds(2)).createdAt)
    }

    @Test func `bad inputs kept together share the syncs`() throws {
        let calls = InterceptedCalls()
        let spool = try queue.open(calls.calls)
        let inputs = (0..<40).map {
            SpoolDirectory.BadInput([UInt8($0)], reason: "no", source: "line \($0)", reading: Reading(.body))
        }
        calls.reset()
        let items = try spool.keepBadInput(inputs, by: rule, now: now)
        #expect(calls.log.filter { ["fsync", "syncfs"].contains($0) } == ["syncfs", "fsync", "fsync"])
        #expect(items.map { queue.bytes("quarantine/\($0.fileName)") } == inputs.map(\.bytes))
        calls.reset()
        _ = try spool.keepBadInput(inputs, by: rule, durable: false, now: now)
        #expect(!calls.log.contains("fsync") && !calls.log.contains("syncfs"))
    }

    @Test func `drop removes a quarantined directory with its content, and no target of its links`() throws {
        try queue.put("kept", at: "outside")
        let directory = queue.path + "/new/tree"
        var deep = directory
        for _ in 0..<60 { deep += "/" + String(repeating: "d", count: 60) }
        try FileManager.default.createDirectory(atPath: deep, withIntermediateDirectories: true)
        for file in ["file", ".hidden", "lock", "inner-1"] { try queue.put("x", at: "new/tree/\(file)") }
        try FileManager.default.createDirectory(atPath: directory + "/.git/lock", withIntermediateDirectories: true)
        try queue.put("x", at: "new/tree/.git/lock/lock")
        symlink(queue.path, directory + "/.git/link")
        mkfifo(directory + "/fifo", 0o600)
        let run = try queue.open().beginRun(now: now)
        let item = try #require(try run.admitForeign(now: now, limits: Limits()).quarantined.first)
        #expect(try queue.open().drop(item))
        #expect(queue.names("quarantine").isEmpty && queue.names("new").isEmpty && queue.names("tmp").isEmpty)
        #expect(queue.text("outside") == "kept")
        #expect(try !queue.open().drop(item))
    }

    @Test func `a quarantined directory whose drop failed is dropped later`() throws {
        for index in 1... {
            let fresh = try TemporaryQueue()
            try FileManager.default.createDirectory(
                atPath: fresh.path + "/new/a/b/c", withIntermediateDirectories: true)
            try fresh.put("x", at: "new/a/b/c/d")
            let run = try fresh.open().beginRun(now: now)
            let item = try #require(try run.admitForeign(now: now, limits: Limits()).quarantined.first)
            let calls = InterceptedCalls()
            let open = try fresh.open(calls.calls)
            calls.reset(.error(EIO, at: index))
            let isDropped = try? open.drop(item)
            if isDropped == nil {
                #expect(
                    try fresh.open().quarantined().map(\.fileName) == [item.fileName]
                        || fresh.names("quarantine").isEmpty)
                _ = try fresh.open().drop(item)
            }
            #expect(try fresh.open().quarantined().isEmpty && fresh.names("tmp").isEmpty)
            if calls.count < index { break }
        }
    }

    @Test func `a lost reason does not keep the file from quarantine`() throws {
        let calls = InterceptedCalls()
        let open = try queue.open(calls.calls)
        let entry = try queue.add(["a"])[0]
        let run = try open.beginRun(now: now)
        let claim = try #require(try run.claim(entry))
        calls.reset(.always("write", ENOSPC))
        _ = try run.settle(claim, .quarantined(reason: "x"), record: nil, now: now)
        try queue.put("no json", at: "quarantine/other.reason")
        try queue.put("no json", at: "quarantine/other")
        let items = try queue.open().quarantined()
        #expect(items.count == 2 && items.allSatisfy { $0.reason == nil })
    }

    @Test func `a file whose name is taken, or too long for its reason, gets a new name in quarantine`() throws {
        let long = EntryName(
            createdAt: now, id: OperationID(String(repeating: "i", count: 64))!,
            type: TypeName(String(repeating: "t", count: 64))!,
            keyDigest: Digest(of: "k"), originDigest: Digest(of: "o"), attempts: 9999, interruptions: 99,
            gate: .retryAt(now.roundedUpToMilliseconds))
        #expect(long.description.utf8.count == 249)
        try queue.put("", at: "new/\(long)")
        let taken = try settled("a", .quarantined(reason: "x"))
        try queue.put("", at: "new/\(taken.name)")
        let run = try queue.open().beginRun(now: now)
        for name in [long, taken.name] {
            let claim = try #require(try run.claim(Entry(state: .new, name: name)))
            guard case .quarantined(let item) = try run.settle(claim, .quarantined(reason: "y"), record: nil, now: now)
            else { throw Errno(0) }
            #expect(item.name == nil && item.originalName == name.description)
        }
        #expect(try queue.open().quarantined().count == 3)
    }

    @Test func `prune removes failed operations beyond their retention, and nothing else`() throws {
        let entry = try settled("a", .failed(countsAttempt: true))
        let open = try queue.open()
        #expect(try open.prune(.failed, olderThan: Timestamp(microseconds: 0), at: now) == 0)
        #expect(try open.read(entry) != nil)
        try queue.add(["waits"])
        try queue.put("x", at: "quarantine/strange")
        for state in QueueState.waiting + [.quarantine] {
            #expect(try open.prune(state, olderThan: .lastInNames, at: now) == 0)
        }
        #expect(queue.names("new").count == 1 && queue.names("quarantine") == ["strange"])
        #expect(try open.prune(.failed, olderThan: .lastInNames, at: now) == 1)
        #expect(try open.read(entry) == nil)
        #expect(try open.endings(of: [entry.name.id]).kinds == [entry.name.id: .failed])
    }

    @Test func `prune keeps a failure that its run may take back`() throws {
        let entry = try queue.add(["a"])[0]
        let run = try queue.open().beginRun(now: now)
        let claim = try #require(try run.claim(entry))
        let disposal = SpoolRun.Disposal(claim, .failed(countsAttempt: true), record: TemporaryQueue.record(.failed))
        _ = try run.withhold(disposal, now: now)
        let open = try queue.open()
        #expect(try open.prune(.failed, olderThan: .lastInNames, at: now) == 0)
        run.endWithholding(claim)
        #expect(try open.prune(.failed, olderThan: .lastInNames, at: now) == 0, "nobody has been told")
        run.haveTold()
        #expect(try open.prune(.failed, olderThan: .lastInNames, at: now) == 1)
    }

    /// An operator's retry, and a run that fails the operation anew, between the search and the removal.
    @Test func `prune keeps a failure that has taken the place of an old one since its search`() throws {
        let entry = try settled("a", .failed(countsAttempt: true))
        nonisolated(unsafe) var isRenewed = false
        var system = SystemCalls.real
        let (real, limit) = (system.statusAt, now)
        system.statusAt = { (directory, path) throws(Errno) in
            var status = try real(directory, path)
            status.changedAt = isRenewed ? limit : limit - .seconds(1)
            return status
        }
        let open = try queue.open(system)
        let count = try open.prune(.failed, olderThan: limit, at: now) { _ in
            isRenewed = true
            return true
        }
        #expect(count == 0)
        #expect(try open.read(entry) != nil)
    }

    @Test(arguments: [
        (Disposition.putBack, QueueState.new),
        (.deferred(until: TemporaryQueue.now + .seconds(3600), countsAttempt: true), .deferred),
    ])
    func `a held operation stays in its state until the release, and is due then`(
        disposition: Disposition, state: QueueState
    ) throws {
        let entry = try settled("a", disposition)
        let open = try queue.open()
        let held = try #require(try open.hold(entry))
        var expected = entry
        expected.name.isHeld = true
        #expect(try held == expected && queue.entries() == [held] && held.state == state)
        #expect(try open.hold(held) == held && open.hold(entry) == nil)
        let released = try #require(try open.release(held, now: now))
        #expect(!released.name.isHeld && released.name.attempts == 0 && released.state == state)
        #expect(released.name.gate == (state == .new ? .open : .retryAt(now.roundedUpToMilliseconds)))
        #expect(try queue.entries() == [released] && open.release(released, now: now) == released)
        #expect(try open.release(held, now: now) == nil)
        let again = try #require(try open.hold(released))
        #expect(try open.retry(again, now: now)?.name.isHeld == false)
    }

    @Test func `a release keeps the notBefore time of an operation`() throws {
        var operation = queue.operation("a")
        operation.header.notBefore = now + .seconds(60)
        guard case .accepted(let name) = try queue.open().accept([operation], limits: Limits()).results[0] else {
            throw Errno(0)
        }
        let entry = Entry(state: .new, name: name)
        let held = try #require(try queue.open().hold(entry))
        #expect(try queue.open().release(held, now: now) == entry)
    }

    @Test(arguments: [true, false], [true, false])
    func `a crash or an error during hold or release leaves the operation in a single place, held or not`(
        isCrash: Bool, links: Bool
    ) throws {
        for holds in [true, false] {
            for index in 1... {
                let fresh = try TemporaryQueue()
                var entry = try fresh.add(["a"])[0]
                if !holds { entry = try #require(try fresh.open().hold(entry)) }
                let calls = InterceptedCalls()
                var result: Entry?
                do {
                    var system = calls.calls
                    if links { system.renameNoReplace = { (_, _, _) throws(Errno) in throw Errno(EINVAL) } }
                    let open = try fresh.open(system)
                    calls.reset(isCrash ? .crash(at: index) : .error(EIO, at: index))
                    result = try? holds ? open.hold(entry) : open.release(entry, now: now)
                }
                // Where a move is link and unlink, a crash can leave a file with two names until the claim.
                let entries = try fresh.entries()
                #expect(entries.count == 1 || isCrash && links && entries.count == 2)
                if let result { #expect(entries == [result] && result.name.isHeld == holds) }
                let run = try fresh.open().beginRun(now: now)
                let last = try #require(entries.last)
                let claim = try #require(try run.claim(last))
                guard case .operation(let stored) = try run.read(claim) else { throw Errno(0) }
                #expect(stored.operation == fresh.operation("a"))
                try run.end()
                #expect(try fresh.entries().count == 1)
                if calls.count < index { break }
            }
        }
    }

    @Test func `a crash during drop or an error during retry leaves the operation in a single place, or dropped`()
        throws
    {
        for index in 1... {
            let fresh = try TemporaryQueue()
            let entry = try fresh.add(["a"])[0]
            let calls = InterceptedCalls()
            do {
                let open = try fresh.open(calls.calls)
                calls.reset(.crash(at: index))
                _ = try? open.drop(entry)
            }
            try fresh.recover()
            #expect(try fresh.entries().count <= 1 && fresh.names("tmp").isEmpty)
            if calls.count < index { break }
        }
        for index in 1... {
            let fresh = try TemporaryQueue()
            let entry = Entry(state: .failed, name: try fresh.add(["a"])[0].name)
            rename("\(fresh.path)/new/\(entry.name)", "\(fresh.path)/failed/\(entry.name)")
            let calls = InterceptedCalls()
            let open = try fresh.open(calls.calls)
            calls.reset(.error(EIO, at: index))
            _ = try? open.retry(entry, now: now)
            #expect(try fresh.entries().count == 1)
            if calls.count < index { break }
        }
    }

    @Test(arguments: [true, false])
    func `a dead letter that leaves does not come back from a run that died between link and unlink`(
        isDropped: Bool
    ) throws {
        let entry = try queue.add(["a"])[0]
        let failed = Entry(state: .failed, name: entry.name)
        do {
            let dead = try queue.open().beginRun(now: now)
            _ = try dead.claim(entry)
            link("\(queue.path)/claimed/\(dead.name)/\(entry.name)", "\(queue.path)/\(failed.path)")
        }
        let open = try queue.open()
        let later = now + .seconds(60)
        if isDropped {
            #expect(try open.drop(failed))
        } else {
            var control = AdmissionControl(Configuration())
            #expect(try open.retryAsNewest(failed, within: &control, now: later) != nil)
        }
        let run = try open.beginRun(now: later)
        #expect(try run.recover(now: later).returned.isEmpty)
        try run.end()
        #expect(try queue.entries().map(\.name.createdAt) == (isDropped ? [] : [later]))
    }
}

/// Retries at a later time, as `retry --rate` makes them.
struct RetryLaterTests {
    let now = TemporaryQueue.now
    private let rule = AdmissionRule(Configuration())

    @Test func `an operation retried at a later time waits in new, however far away the time`() throws {
        let queue = try TemporaryQueue()
        let added = try queue.add(["a", "b"])
        let open = try queue.open()
        let run = try open.beginRun(now: now)
        _ = try run.settle(
            try #require(try run.claim(added[0])), .failed(countsAttempt: true), record: nil, now: now)
        try run.end()
        let failed = try #require(try queue.entries().first { $0.state == .failed })
        let later = now + .seconds(400 * 86_400)
        let retried = try #require(try open.retry(failed, now: now, notBefore: later))
        #expect(retried.path == "new/20261121T091500.123456Z-a,n=20271226T091500.124Z.json")
        #expect(
            eligibility(of: retried.name, at: now, longestDelay: .seconds(30), ignoringBackoff: false)
                == .deferred(until: later + .microseconds(544)))
        // The first operation is due at once, as without a rate.
        let again = try #require(try open.retry(retried, now: now, notBefore: now))
        #expect(again.path == "new/20261121T091500.123456Z-a.json")
        #expect(try Set(queue.entries()) == [again, added[1]])
    }
}

/// An operator's changes to many operations at once.
struct TogetherTests {
    let now = TemporaryQueue.now
    private let rule = AdmissionRule(Configuration())

    @Test func `a directory is synced once for many operations`() throws {
        let queue = try TemporaryQueue()
        let added = try queue.add(["a", "b", "c"])
        let calls = InterceptedCalls()
        let open = try queue.open(calls.calls)
        calls.reset()
        try open.withSharedSyncs {
            for entry in added { _ = try? open.retry(entry, now: now, notBefore: now + .seconds(9)) }
            #expect(!calls.log.contains("fsync"))
        }
        #expect(calls.log.count { $0 == "fsync" } == 1)
        calls.reset()
        for entry in try queue.entries() { _ = try open.drop(entry) }
        #expect(calls.log.count { $0 == "fsync" } == 3, "each at once again")
    }

    @Test(arguments: [true, false])
    func `after a crash or an error at any call, every operation is in a single place`(isCrash: Bool) throws {
        for index in 1... {
            let queue = try TemporaryQueue()
            let added = try queue.add(["a", "b", "c"])
            let calls = InterceptedCalls()
            do {
                let open = try queue.open(calls.calls)
                calls.reset(isCrash ? .crash(at: index) : .error(EIO, at: index))
                try? open.withSharedSyncs { for entry in added { _ = try? open.hold(entry) } }
            }
            #expect(calls.descriptors.isEmpty)
            #expect(try queue.entries().map(\.name.id.description).sorted() == ["a", "b", "c"])
            if calls.count < index { break }
        }
    }
}
