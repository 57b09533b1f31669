import CSystem
import Foundation
import Spool
import Testing

@testable import Policy

/// The rows of the table in SpoolDirectory.swift, each left by a crash and found by the next run.
struct RecoveryTests {
    let queue: TemporaryQueue
    let now = TemporaryQueue.now

    init() throws {
        queue = try TemporaryQueue()
    }

    /// Claims the operation and dies: the lock goes, the file stays.
    func die(with entry: Entry) throws {
        let run = try queue.open().beginRun(now: now)
        run.begin([try #require(try run.claim(entry))])
    }

    @Test func `W: recovery removes directories of dead writers and old foreign files, not young foreign files`() throws
    {
        let calls = InterceptedCalls()
        do {
            let open = try queue.open(calls.calls)
            calls.reset(.crash(at: 18))
            #expect(throws: SpoolError.self) { try open.accept([queue.operation("a")], limits: Limits()) }
        }
        #expect(queue.names("tmp").count == 1)
        try queue.put("foreign", at: "tmp/young")
        try queue.put("foreign", at: "tmp/old")
        let old = Date().addingTimeInterval(-37 * 3600)
        try FileManager.default.setAttributes([.modificationDate: old], ofItemAtPath: queue.path + "/tmp/old")
        let clock = Timestamp(microseconds: Int64(Date().timeIntervalSince1970 * 1e6))
        for directory in ["young-tree", "old-tree", "writer"] {
            mkdir("\(queue.path)/tmp/\(directory)", 0o700)
            try queue.put("foreign", at: "tmp/\(directory)/file")
        }
        try queue.put("", at: "tmp/writer/lock")
        try FileManager.default.setAttributes([.modificationDate: old], ofItemAtPath: queue.path + "/tmp/old-tree")
        try queue.recover(now: clock)
        #expect(queue.names("tmp") == ["young", "young-tree"] && queue.names("tmp/young-tree") == ["file"])
        #expect(try queue.entries().isEmpty)
    }

    /// `i` counts for quarantine, and a retry ends it. `u` says for ever that a request may have arrived.
    @Test func `C: an unknown end stays in the name, whatever a person does`() throws {
        let entry = try queue.add(["a"])[0]
        try die(with: entry)
        try queue.recover()
        var returned = try #require(try queue.entries().first)
        #expect(returned.name.interruptions == 1 && returned.name.unknowns == 1)
        let open = try queue.open()
        returned = try #require(try open.retry(returned, now: now))
        #expect(returned.name.interruptions == 0 && returned.name.unknowns == 1)
        let held = try #require(try open.hold(returned))
        #expect(try open.release(held, now: now)?.name.unknowns == 1)
    }

    @Test func `C: without marks of this boot a request may have begun, and nothing is charged`() throws {
        let entry = try queue.add(["a"])[0]
        var system = SystemCalls.real
        system.boot = { "another boot" }
        do {
            let run = try queue.open(system).beginRun(now: now)
            _ = try #require(try run.claim(entry))
        }
        try queue.recover()
        let returned = try #require(try queue.entries().first)
        #expect(returned.name.interruptions == 0 && returned.name.unknowns == 1)
    }

    @Test func `C: a claim without a mark of this boot has had no request`() throws {
        let entry = try queue.add(["a"])[0]
        do {
            let run = try queue.open().beginRun(now: now)
            _ = try #require(try run.claim(entry))
        }
        try queue.recover()
        #expect(try queue.entries() == [entry])
    }

    @Test func `X: what a dead run has failed and withheld stays failed, and recovery tells of it`() throws {
        let entries = try queue.add(["a", "b", "c", "d"])
        do {
            let run = try queue.open().beginRun(now: now)
            for entry in entries {
                let claim = try #require(try run.claim(entry))
                let (end, record) = (Disposition.failed(countsAttempt: true), TemporaryQueue.record(.failed))
                if entry == entries[2] || entry == entries[3] {
                    claim.note(isOfStorm: entry == entries[2])
                    _ = try run.settle(claim, as: end, record: record)
                } else {
                    _ = try run.withhold(SpoolRun.Disposal(claim, end, record: record), now: now)
                }
                if entry == entries[1] { run.endWithholding(claim) }
            }
        }
        var told: [[UntoldEnd]] = []
        for canTell in [false, true, true] {
            let run = try queue.open().beginRun(now: now)
            let recovery = try run.recover(
                now: now,
                telling: { (failures) throws(SpoolError) in
                    told.append(failures)
                    if !canTell { throw SpoolError(kind: .io, verb: "lock", path: "state/lock", code: EWOULDBLOCK) }
                    return true
                })
            #expect(recovery.errors.map(\.isLocked) == (canTell ? [] : [true]))
            try run.end()
        }
        #expect(told.count == 2 && told[0] == told[1], "until it is told, and then no more")
        #expect(told[0].map(\.entry.name.id) == entries.map(\.name.id))
        #expect(told[0].map(\.isOfStorm) == [true, true, true, false])
        #expect(told[0].allSatisfy { $0.last?.outcome == .failed })
        #expect(try queue.entries().allSatisfy { $0.state == .failed })
    }

    @Test func `X: recovery does not tell the failure of a later operation with the id of a dead run's failure`() throws
    {
        // The last of the operations fails.
        func fail(_ ids: [String], by run: SpoolRun) throws {
            let entry = try queue.add(ids)[ids.count - 1]
            let claim = try #require(try run.claim(entry))
            _ = try run.settle(claim, as: .failed(countsAttempt: true), record: TemporaryQueue.record(.failed))
        }
        do { try fail(["a"], by: try queue.open().beginRun(now: now)) }
        let failed = try queue.entries()[0]
        #expect(try queue.open().drop(failed))
        let run = try queue.open().beginRun(now: now)
        // Its creation is later.
        try fail(["b", "a"], by: run)
        run.haveTold()
        var told: [UntoldEnd] = []
        let recovery = try run.recover(
            now: now,
            telling: { (failures) throws(SpoolError) in
                told += failures
                return true
            })
        #expect(recovery.deadRuns.count == 1 && told.isEmpty)
        try run.end()
    }

    @Test func `X: a claim that cannot be moved on keeps no failure of its run untold, and none is told twice`() throws
    {
        let entries = try queue.add(["a", "b"])
        do {
            let run = try queue.open().beginRun(now: now)
            let claims = try entries.map { try #require(try run.claim($0)) }
            run.begin(claims)
            _ = try run.settle(claims[1], as: .failed(countsAttempt: true))
        }
        var told: [OperationID] = []
        for fault in [InterceptedCalls.Fault.always("renameNoReplace", EIO), .always("renameNoReplace", EIO), .none] {
            let calls = InterceptedCalls()
            let run = try queue.open(calls.calls).beginRun(now: now)
            calls.reset(fault)
            let recovery = try run.recover(
                now: now,
                telling: { (failures) throws(SpoolError) in
                    told += failures.map(\.entry.name.id)
                    return true
                })
            #expect(recovery.errors.count + recovery.returned.count == 1)
            calls.reset()
            try run.end()
        }
        #expect(told == [entries[1].name.id] && queue.names("claimed").isEmpty)
        #expect(try queue.entries().map { "\($0.state) \($0.name.id)" }.sorted() == ["failed b", "new a"])
    }

    @Test func `C: marks count although there was no room for the first record at first`() throws {
        let entry = try queue.add(["a"])[0]
        do {
            let calls = InterceptedCalls()
            let run = try queue.open(calls.calls).beginRun(now: now)
            calls.reset(.once("writeAt", ENOSPC))
            run.begin([try #require(try run.claim(entry))])
        }
        #expect(try queue.recover().returned.map(\.name.interruptions) == [1])
    }

    @Test func `N, D, X, Q and K: unclaimed operations stay in their states`() throws {
        let added = try queue.add(["n", "d", "x", "q", "k"])
        let run = try queue.open().beginRun(now: now)
        let dispositions: [Disposition] = [
            .deferred(until: now, countsAttempt: true), .failed(countsAttempt: true), .quarantined(reason: "r"),
            .delivered(keep: true),
        ]
        for (entry, disposition) in zip(added.dropFirst(), dispositions) {
            _ = try run.settle(#require(try run.claim(entry)), as: disposition)
        }
        try run.end()
        let before = try Set(queue.entries())
        #expect(before.count == 5 && Set(before.map(\.state)).count == 5)
        let recovery = try queue.recover()
        #expect(recovery == Recovery())
        #expect(try Set(queue.entries()) == before)
    }

    @Test func `C: a claim of a dead run returns to its home, with an interruption more`() throws {
        let added = try queue.add(["a", "b"])
        let run = try queue.open().beginRun(now: now)
        guard
            case .moved(let deferred) = try run.settle(
                #require(try run.claim(added[1])), .deferred(until: now, countsAttempt: false), record: nil, now: now)
        else { throw Errno(0) }
        try run.end()
        try die(with: added[0])
        try die(with: deferred)
        let recovery = try queue.recover()
        #expect(recovery.deadRuns.count == 2 && recovery.quarantined.isEmpty && recovery.errors.isEmpty)
        #expect(
            Set(recovery.returned.map { "\($0.state) \($0.name.id) \($0.name.interruptions)" }) == [
                "new a 1", "deferred b 1",
            ])
        #expect(try Set(queue.entries()) == Set(recovery.returned))
        #expect(queue.names("claimed").isEmpty)
    }

    @Test func `C: a claim without a request returns without an interruption`() throws {
        let added = try queue.add(["a", "b", "c"])
        do {
            let run = try queue.open().beginRun(now: now)
            let claims = try added.map { try #require(try run.claim($0)) }
            run.begin([claims[0], claims[1]])
            // The run claims the operation again after putting the operation back.
            _ = try run.settle(claims[1], .putBack, record: nil, now: now)
            _ = try #require(try run.claim(added[1]))
        }
        let returned = try queue.recover().returned
        #expect(Set(returned.map { "\($0.name.id) \($0.name.interruptions)" }) == ["a 1", "b 0", "c 0"])
    }

    @Test func `C: a power cut counts no interruption`() throws {
        let added = try queue.add(["a"])
        do {
            var system = SystemCalls.real
            system.boot = { "another boot" }
            let run = try queue.open(system).beginRun(now: now)
            run.begin([try #require(try run.claim(added[0]))])
        }
        let returned = try queue.recover().returned
        #expect(returned.map { "\($0.name.id) \($0.name.interruptions) \($0.name.unknowns)" } == ["a 0 1"])
    }

    @Test func `C: an operation delivered by a dead run is removed, not returned`() throws {
        let added = try queue.add(["a", "b"])
        do {
            let run = try queue.open().beginRun(now: now)
            let claims = try added.map { try #require(try run.claim($0)) }
            run.begin(claims)
            #expect(try run.receipt(for: [claims[0]]).isMarked)
        }
        let recovery = try queue.recover()
        #expect(recovery.delivered == [added[0].name] && recovery.errors.isEmpty)
        #expect(recovery.returned.map { "\($0.name.id) \($0.name.interruptions)" } == ["b 1"])
        #expect(try queue.entries() == recovery.returned)
        #expect(queue.names("claimed").isEmpty)
    }

    @Test func `C: a recovery that cannot remove a delivered operation leaves the operation to the next recovery`()
        throws
    {
        let added = try queue.add(["a"])
        do {
            let run = try queue.open().beginRun(now: now)
            let claim = try #require(try run.claim(added[0]))
            #expect(try run.receipt(for: [claim]).isMarked)
        }
        do {
            let calls = InterceptedCalls()
            let run = try queue.open(calls.calls).beginRun(now: now)
            calls.reset(.always("unlink", EIO))
            #expect(try run.recover(now: now).errors.count == 1)
        }
        #expect(try queue.recover().delivered == [added[0].name])
        #expect(try queue.entries().isEmpty && queue.names("claimed").isEmpty)
    }

    @Test func `C: the mark of a delivery ends with its file, and does not cover a later operation of the same name`()
        throws
    {
        let added = try queue.add(["a"])
        let file = try #require(queue.bytes("new/\(added[0].name)"))
        do {
            let run = try queue.open().beginRun(now: now)
            let claim = try #require(try run.claim(added[0]))
            _ = try run.settle(claim, as: .delivered(keep: false))
            // An import brings the operation back.
            try queue.put(file, at: "new/\(added[0].name)")
            _ = try #require(try run.claim(added[0]))
        }
        #expect(try queue.recover().returned == added)
    }

    @Test func `C: a copy that a dead run had yet to keep is kept, and values for a chain, too`() throws {
        let added = try queue.add(["a", "b"])
        var record = TemporaryQueue.record(.delivered)
        record.answer = KeptAnswer(body: Array("yes".utf8))
        var left = TemporaryQueue.record(.delivered)
        left.kept = ChainValues(chain: "k", kept: KeptValues(values: ["id": KeptValue(json: Array("7".utf8))!]))
        do {
            let run = try queue.open().beginRun(now: now)
            let claims = try added.map { try #require(try run.claim($0)) }
            #expect(try run.receipt(for: [claims[0]], keep: true, record: record).isMarked)
            #expect(try run.receipt(for: [claims[1]], record: left).isMarked)
        }
        var finished: [EntryName] = []
        let open = try queue.open()
        let run = try open.beginRun(now: now)
        let recovery = try run.recover(
            now: now,
            finishing: { claim, _, began in
                finished.append(claim.name)
                #expect(began == record.at)
            })
        #expect(recovery.delivered.count == 2)
        try run.end()
        #expect(Set(finished) == Set(added.map(\.name)))
        #expect(try queue.entries() == [Entry(state: .delivered, name: added[0].name)])
        guard case .operation(let copy)? = try open.read(Entry(state: .delivered, name: added[0].name)) else {
            throw Errno(0)
        }
        #expect(copy.operation.attempts == [record])
        #expect(try open.keptValues(of: Digest(of: "k")).mapValues(\.json) == ["id": "7"])
    }

    @Test(arguments: [-1, 1], [-3600, 3600])
    func `C: the value that a dead run had yet to keep replaces no value of a newer operation, whatever clocks say`(
        newer: Int, later: Int
    ) throws {
        let added = try queue.add(["a"])
        func kept(_ json: String) -> KeptValues { KeptValues(values: ["id": KeptValue(json: Array(json.utf8))!]) }
        var record = TemporaryQueue.record(.delivered)
        record.kept = ChainValues(chain: "k", kept: kept("7"))
        do {
            let run = try queue.open().beginRun(now: now)
            let claim = try #require(try run.claim(added[0]))
            #expect(try run.receipt(for: [claim], record: record).isMarked)
        }
        let answered = record.at + record.duration
        let open = try queue.open()
        let other = Age(createdAt: added[0].name.createdAt + .seconds(newer), id: OperationID("b")!)
        _ = try open.keep(kept("8"), of: other, for: "k", at: answered + .seconds(later))
        #expect(try queue.recover().delivered.count == 1)
        #expect(try open.keptValues(of: Digest(of: "k")).mapValues(\.json) == ["id": newer > 0 ? "8" : "7"])
    }

    @Test func `C: an operation of an answered request is not sent again, whatever file call fails`() throws {
        let added = try queue.add(["a", "b"])
        let calls = InterceptedCalls()
        let run = try queue.open(calls.calls).beginRun(now: now)
        let claims = try added.map { try #require(try run.claim($0)) }
        calls.reset()
        let receipt = try run.receipt(for: claims)
        // Begun, then delivered; nothing is removed before.
        #expect(calls.log.filter { $0 == "writeAt" }.count >= 4 && !calls.log.contains("unlink"))
        calls.reset(.always("unlink", EIO))
        #expect(throws: SpoolError.self) {
            try run.settle(claims[0], .delivered(keep: false), record: nil, receipt: receipt, now: now)
        }
        #expect(run.leaveDecided(claims))
        #expect(throws: Never.self) { try run.end() }
        #expect(Set(try queue.recover().delivered) == Set(added.map(\.name)))
        #expect(try queue.entries().isEmpty)
    }

    /// The system moves no file into failed/ at first.
    @Test func `X: what could not be moved after its failure is not sent again, and is told once it has moved`() throws
    {
        let entry = try queue.add(["a"])[0]
        let calls = InterceptedCalls()
        let run = try queue.open(calls.calls).beginRun(now: now)
        let claim = try #require(try run.claim(entry))
        run.begin([claim])
        calls.reset(.always("renameNoReplace", EIO))
        #expect(throws: SpoolError.self) {
            try run.settle(claim, .failed(countsAttempt: true), record: TemporaryQueue.record(.failed), now: now)
        }
        #expect(run.leaveDecided([claim]))
        run.haveTold()
        calls.reset()
        var told: [UntoldEnd] = []
        let recovery = try run.recover(
            now: now,
            telling: { (failures) throws(SpoolError) in
                told += failures
                return true
            })
        #expect(recovery.returned.isEmpty && told.map(\.entry.state) == [.failed])
        run.haveTold()
        try run.end()
        #expect(try queue.entries().map(\.state) == [.failed] && queue.names("claimed").isEmpty)
    }

    @Test func `C: a run recovers what an error has left in its own directory`() throws {
        let added = try queue.add(["a", "b"])
        try die(with: added[0])
        var system = SystemCalls.real
        let move = system.renameNoReplace
        var moves = 0
        system.renameNoReplace = { (root, from, to) throws(Errno) in
            moves += 1
            if moves == 2 { throw Errno(EIO) }
            try move(root, from, to)
        }
        let run = try queue.open(system).beginRun(now: now)
        let claim = try #require(try run.claim(added[1]))
        // The file of the dead run comes into this run's directory, and does not leave it.
        #expect(try run.recover(now: now).errors.count == 1)
        #expect(try queue.entries().filter { $0.claimedBy == run.name }.count == 2)
        let recovery = try run.recover(now: now)
        #expect(recovery.returned.map { "\($0.name.id) \($0.name.interruptions)" } == ["a 1"])
        #expect(recovery.errors.isEmpty && claim.isOpen)
        try run.end()
        #expect(try queue.entries().map { "\($0.state) \($0.name.id)" }.sorted() == ["new a", "new b"])
    }

    @Test func `C: after a power cut the mark of a delivery does not count`() throws {
        let added = try queue.add(["a"])
        do {
            var system = SystemCalls.real
            system.boot = { "another boot" }
            let run = try queue.open(system).beginRun(now: now)
            let claim = try #require(try run.claim(added[0]))
            #expect(try run.receipt(for: [claim]).isMarked)
        }
        let returned = try queue.recover().returned
        #expect(returned.map { "\($0.name.id) \($0.name.interruptions) \($0.name.unknowns)" } == ["a 0 1"])
    }

    @Test func `C: a claim of a live run is left alone`() throws {
        let entry = try queue.add(["a"])[0]
        let run = try queue.open().beginRun(now: now)
        _ = try run.claim(entry)
        #expect(try queue.recover() == Recovery())
        #expect(queue.bytes("claimed/\(run.name)/\(entry.name)") != nil)
    }

    @Test func `C: an operation with too many interruptions goes to quarantine`() throws {
        _ = try queue.add(["a"])
        for count in 1...5 {
            let entry = try #require(try queue.entries().first)
            try die(with: entry)
            let recovery = try queue.recover()
            #expect(recovery.returned.count == (count < 5 ? 1 : 0))
            if count == 5 {
                #expect(recovery.quarantined.first?.reason == "its run died 5 times while it was being attempted")
            }
        }
        let item = try #require(try queue.open().quarantined().first)
        #expect(item.name?.interruptions == 5)
        #expect(try queue.open().retry(item, now: now))
        #expect(try queue.entries().map(\.name.interruptions) == [0])
    }

    @Test func `C: a settled attempt clears the count of interruptions`() throws {
        try die(with: try queue.add(["a"])[0])
        let returned = try #require(try queue.recover().returned.first)
        let run = try queue.open().beginRun(now: now)
        guard
            case .moved(let entry) = try run.settle(
                #require(try run.claim(returned)), .deferred(until: now, countsAttempt: true), record: nil, now: now)
        else { throw Errno(0) }
        #expect(entry.name.interruptions == 0 && entry.name.attempts == 1)
    }

    @Test func `C: a strange file in a dead run's directory is admitted as a foreign file`() throws {
        mkdir("\(queue.path)/claimed/dead", 0o700)
        try queue.put("5", at: "claimed/dead/odd")
        try queue.put("6", at: "claimed/dead/taken")
        try queue.put("7", at: "new/taken")
        try queue.put("", at: "claimed/stray")
        let recovery = try queue.recover()
        #expect(recovery.deadRuns == ["dead"] && recovery.returned.isEmpty)
        #expect(queue.names("new").count == 3 && queue.names("claimed") == ["stray"])
        let run = try queue.open().beginRun(now: now)
        #expect(try run.admitForeign(now: now, limits: Limits()).admitted.count == 3)
    }

    @Test func `of two generations of an operation the generation with more attempts stays`() throws {
        let added = try queue.add(["a", "b"])
        try die(with: added[1])
        var later = added[0].name
        later.attempts = 2
        later.gate = .retryAt(now.roundedUpToMilliseconds)
        var operation = queue.operation("a")
        operation.attempts = [TemporaryQueue.record(), TemporaryQueue.record()]
        try queue.put(OperationFile.encode(operation), at: "deferred/\(later)")
        let recovery = try queue.recover()
        #expect(recovery.repaired == 1)
        #expect(try queue.entries().map { "\($0.name.id)\($0.name.attempts)" }.sorted() == ["a2", "b0"])
    }

    /// Another process holds and releases the operation between the calls, so each of the two names is found.
    @Test(arguments: [false, true])
    func `a file seen under two names is not removed`(repairs: Bool) throws {
        let added = try queue.add(["a", "b"])
        try die(with: added[1])
        var held = added[0]
        held.name.isHeld = true
        let paths = [added[0].path, held.path].map { "\(queue.path)/\($0)" }
        var system = SystemCalls.real
        system.open = { (directory, path, flags, mode) throws(Errno) in
            if let index = [added[0].path, held.path].firstIndex(of: String(cString: path)) {
                rename(paths[1 - index], paths[index])
            }
            return try SystemCalls.real.open(directory, path, flags, mode)
        }
        system.rename = { (directory, from, target, to) throws(Errno) in
            if String(cString: from) == added[0].path { rename(paths[1], paths[0]) }
            try SystemCalls.real.rename(directory, from, target, to)
        }
        system.list = { (directory, path, body) throws(Errno) in
            try SystemCalls.real.list(directory, path) { name in
                guard String(decoding: name, as: UTF8.self).contains("-a") else { return body(name) }
                return [added[0], held].allSatisfy { entry in
                    Array(entry.name.description.utf8).withUnsafeBufferPointer(body)
                }
            }
        }
        let open = try queue.open(system)
        if repairs {
            #expect(open.repair(by: ReplacementRule(Configuration(), at: now), now: now).errors.isEmpty)
        } else {
            let run = try open.beginRun(now: now)
            #expect(try run.recover(now: now).repaired == 0)
            try run.end()
        }
        #expect(try queue.entries().map(\.name.id.description).sorted() == ["a", "b"])
    }

    @Test func `two operations with the same id are both kept`() throws {
        let added = try queue.add(["a", "b"])
        try die(with: added[1])
        var other = added[0].name
        other.attempts = 2
        try queue.put(OperationFile.encode(queue.operation("a", body: "other")), at: "deferred/\(other)")
        #expect(try queue.recover().repaired == 0)
        #expect(try queue.entries().count == 3)
    }

    @Test func `recovery finishes a move interrupted between link and unlink`() throws {
        let added = try queue.add(["a", "b"])
        // A move interrupted during a claim, and a move interrupted during a deferral.
        let run = try queue.open().beginRun(now: now)
        var later = added[1].name
        later.attempts = 1
        for entry in added { _ = try run.claim(entry) }
        link("\(queue.path)/claimed/\(run.name)/\(added[0].name)", "\(queue.path)/\(added[0].path)")
        link("\(queue.path)/claimed/\(run.name)/\(added[1].name)", "\(queue.path)/deferred/\(later)")
        #expect(try queue.recover() == Recovery())
        // The run dies: the same directory without a lock on it.
        try FileManager.default.copyItem(atPath: queue.path + "/new", toPath: queue.path + "/tmp/x")
        let claimed = "\(queue.path)/claimed/\(run.name)"
        rename(claimed, "\(queue.path)/claimed/dead")
        unlink("\(queue.path)/claimed/dead/lock")
        let recovery = try queue.recover()
        #expect(recovery.repaired == 2 && recovery.returned.isEmpty)
        #expect(
            try queue.entries().map { "\($0.state) \($0.name.id)\($0.name.attempts)" }.sorted() == [
                "deferred b1", "new a0",
            ])
    }

    @Test func `a foreign file that another run is moving waits for the end of the move`() throws {
        try queue.put(#"{"drainq":1,"payload":"v"}"#, at: "new/v")
        let other = try queue.open().beginRun(now: now)
        link("\(queue.path)/new/v", "\(queue.path)/claimed/\(other.name)/admitting-1")
        let run = try queue.open().beginRun(now: now)
        #expect(try run.admitForeign(now: now, limits: Limits()) == Admission())
        #expect(queue.names("new") == ["v"] && queue.names("quarantine").isEmpty)
        try other.end()
        #expect(try run.recover(now: now).repaired == 1)
        #expect(try run.admitForeign(now: now, limits: Limits()).admitted.count == 1)
        try run.end()
    }

    @Test func `a dropped file in quarantine does not come back from a run that died between link and unlink`() throws {
        try queue.put("{", at: "quarantine/20261121T091500.123456Z-7")
        mkdir("\(queue.path)/claimed/dead", 0o700)
        link("\(queue.path)/quarantine/20261121T091500.123456Z-7", "\(queue.path)/claimed/dead/admitting-1")
        let open = try queue.open()
        #expect(try open.drop(try #require(try open.quarantined().first)))
        _ = try queue.recover()
        #expect(queue.names("quarantine").isEmpty && queue.names("new").isEmpty)
    }

    @Test func `a superseded value does not come back from a run that died between link and unlink`() throws {
        var values = [queue.operation("older"), queue.operation("newer", 1)]
        for index in values.indices { values[index].header.key = "k" }
        let accepted = try queue.open().accept(values, limits: Limits(), durable: false)
        let names = accepted.results.compactMap { if case .accepted(let name) = $0 { name } else { nil } }
        let older = Entry(state: .new, name: names[0])
        var configuration = Configuration()
        configuration.defaultRoute.coalesce = true
        let rule = ReplacementRule(configuration, at: now)
        mkdir("\(queue.path)/claimed/dead", 0o700)
        link("\(queue.path)/\(older.path)", "\(queue.path)/claimed/dead/\(older.name)")
        for _ in 1...2 {
            let run = try queue.open().beginRun(now: now)
            guard let claim = try run.claim(older) else { break }
            let isGone = try run.supersede(claim, byWaiting: names[1], rule, patience: .seconds(5), at: now)
            try run.end()
            _ = try queue.recover()
            #expect(queue.names("new") == (isGone ? names[1...] : names[...]).map(\.description))
        }
        #expect(queue.names("new") == [names[1].description] && queue.names("claimed").isEmpty)
    }

    @Test func `recovery finishes the move of a foreign file interrupted between link and unlink`() throws {
        for name in ["v", "w"] { try queue.put(#"{"drainq":1,"payload":"\#(name)"}"#, at: "new/\(name)") }
        mkdir("\(queue.path)/claimed/dead", 0o700)
        link("\(queue.path)/new/w", "\(queue.path)/claimed/dead/admitting-1")
        #expect(try queue.recover().repaired == 1)
        #expect(queue.names("new") == ["v", "w"] && queue.names("claimed").isEmpty)
        let run = try queue.open().beginRun(now: now)
        let admission = try run.admitForeign(now: now, limits: Limits())
        #expect(admission.admitted.count == 2 && admission.quarantined.isEmpty)
        try run.end()
    }

    @Test func `recovery finishes the move of a foreign file's copy interrupted between link and unlink`() throws {
        try queue.put(#"{"drainq":1,"id":"own","payload":5}"#, at: "new/x")
        let run = try queue.open().beginRun(now: now)
        let entry = try #require(run.admitForeign(now: now, limits: Limits()).admitted.first)
        try run.end()
        mkdir("\(queue.path)/claimed/dead", 0o700)
        link("\(queue.path)/\(entry.path)", "\(queue.path)/claimed/dead/admitting-1")
        #expect(try queue.recover().repaired == 1)
        #expect(queue.names("new") == [entry.name.description] && queue.names("claimed").isEmpty)
    }

    @Test func `reading a claim finishes an interrupted move`() throws {
        let entry = try queue.add(["a"])[0]
        let run = try queue.open().beginRun(now: now)
        let claim = try #require(try run.claim(entry))
        link("\(queue.path)/claimed/\(run.name)/\(entry.name)", "\(queue.path)/\(entry.path)")
        guard case .operation = try run.read(claim) else { throw Errno(0) }
        #expect(queue.names("new").isEmpty)
    }

    @Test func `where renames cannot refuse to replace, a move is link, sync, unlink`() throws {
        let calls = InterceptedCalls()
        let open = try queue.open(calls.calls)
        calls.reset(.always("renameNoReplace", EINVAL))
        let accepted = try open.accept([queue.operation("a"), queue.operation("b", 1)], limits: Limits())
        let log = calls.log.filter { ["renameNoReplace", "link", "fsync", "unlink"].contains($0) }
        #expect(
            log.prefix(9) == [
                "fsync", "fsync", "renameNoReplace", "link", "fsync", "unlink", "link", "fsync", "unlink",
            ])
        guard case .accepted(let name) = accepted.results[0] else { throw Errno(0) }
        #expect(try open.accept([queue.operation("a")], limits: Limits()).results == [.duplicate(of: .new)])
        let run = try open.beginRun(now: now)
        let claim = try #require(try run.claim(Entry(state: .new, name: name)))
        // Linked already, as after an earlier interruption of the move.
        link("\(queue.path)/claimed/\(run.name)/\(name)", "\(queue.path)/new/\(name)")
        #expect(try run.settle(claim, .putBack, record: nil, now: now) == .moved(Entry(state: .new, name: name)))
        mkdir("\(queue.path)/new/directory", 0o700)
        let admission = try run.admitForeign(now: now, limits: Limits())
        #expect(admission.quarantined.map(\.reason) == ["it is a directory"])
        try run.end()
        #expect(try queue.entries().count == 2)
    }

    /// The run tells at the end: after its crash at any call the recovery tells, unless the run has told, and once the
    /// mark says that the operation has failed it is not sent again.
    @Test(arguments: [false, true])
    func `X: a crash at any call of a failure leaves no failure untold`(isRefusedOnce: Bool) throws {
        var record = TemporaryQueue.record(.failed)
        record.counted = true
        for index in 1... {
            let fresh = try TemporaryQueue()
            let entry = try fresh.add(["a"])[0]
            let calls = InterceptedCalls()
            var hasTold = false
            do {
                let open = try fresh.open(calls.calls)
                let run = try open.beginRun(now: now)
                let claim = try #require(try run.claim(entry))
                run.begin([claim])
                calls.reset(.crash(at: index))
                if (try? run.settle(claim, .failed(countsAttempt: true), record: record, now: now)) != nil {
                    hasTold = true
                    run.haveTold()
                }
                try? run.end()
            }
            var told: [UntoldEnd] = []
            for fault in (isRefusedOnce ? [InterceptedCalls.Fault.once("renameNoReplace", ENOSPC)] : []) + [.none] {
                let calls = InterceptedCalls()
                let run = try fresh.open(calls.calls).beginRun(now: now)
                calls.reset(fault)
                _ = try run.recover(
                    now: now,
                    telling: { (failures) throws(SpoolError) in
                        told += failures
                        return true
                    })
                try run.end()
            }
            #expect(fresh.names("claimed").isEmpty)
            let name = try #require(try fresh.entries().first)
            #expect(try fresh.entries().count == 1)
            if name.state == .failed {
                #expect(name.name.attempts == 1 && name.name.interruptions == 0)
                #expect(hasTold || told.map(\.entry) == [name], "call \(index)")
            } else {
                #expect(name.state == .new && name.name.interruptions == 1 && told.isEmpty)
            }
            if calls.count < index { break }
        }
    }

    /// `send` tells before it removes the file.
    @Test(arguments: [true, false])
    func `X: a crash or an error at any call of a failure of send leaves it to recovery, or told and gone`(
        isCrash: Bool
    ) throws {
        for index in 1... {
            let fresh = try TemporaryQueue()
            let calls = InterceptedCalls()
            var hasTold = false
            do {
                let open = try fresh.open(calls.calls)
                let run = try open.beginRun(now: nil)
                var control = AdmissionControl(Configuration())
                var sent = Submission(fresh.operation("a"), hasOwnID: true, at: now, isDated: true)
                guard case .accepted(let claim) = try run.accept(&sent, within: &control) else { throw Errno(0) }
                run.begin([claim])
                calls.reset(isCrash ? .crash(at: index) : .error(EIO, at: index))
                let record = TemporaryQueue.record(.failed)
                if (try? run.settle(claim, .failed(countsAttempt: true), record: record, now: now)) != nil {
                    hasTold = !isCrash || calls.count < index
                    try? run.refuse(claim, because: record.rule, at: now)
                }
                try? run.end()
            }
            var told: [UntoldEnd] = []
            let run = try fresh.open().beginRun(now: now)
            _ = try run.recover(
                now: now,
                telling: { (failures) throws(SpoolError) in
                    told += failures
                    return true
                })
            try run.end()
            #expect(fresh.names("claimed").isEmpty)
            let entries = try fresh.entries()
            switch entries.first?.state {
            case nil: #expect(hasTold && told.isEmpty)
            case .failed: #expect(told.map(\.entry) == entries && told.allSatisfy { $0.last != nil }, "call \(index)")
            default: #expect(!hasTold && entries.map(\.name.interruptions) == [1] && entries[0].state == .new)
            }
            if calls.count < index { break }
        }
    }

    @Test func `a delivery whose run dies at any call of its end is told once`() throws {
        for index in 1... {
            let fresh = try TemporaryQueue()
            let entry = try fresh.add(["a"])[0]
            let calls = InterceptedCalls()
            var hasDied = false
            do {
                let run = try fresh.open(calls.calls).beginRun(now: now)
                let claim = try #require(try run.claim(entry))
                let receipt = try run.receipt(for: [claim])
                calls.reset(.crash(at: index))
                _ = try? run.settle(claim, .delivered(keep: false), record: nil, receipt: receipt, now: now)
                hasDied = calls.count >= index
            }
            #expect(try tell(fresh) + tell(fresh) == (hasDied ? [Entry(state: .delivered, name: entry.name)] : []))
            #expect(try fresh.entries().isEmpty && fresh.names("claimed").isEmpty)
            if !hasDied { break }
        }
    }

    @Test func `a delivery is told whenever its recovery dies, and twice only after a death behind the telling`() throws
    {
        for index in 1... {
            let fresh = try TemporaryQueue()
            let entry = try fresh.add(["a"])[0]
            do {
                let run = try fresh.open().beginRun(now: now)
                #expect(try run.receipt(for: [try #require(try run.claim(entry))]).isMarked)
            }
            let calls = InterceptedCalls()
            var first: [Entry] = []
            do {
                let run = try fresh.open(calls.calls).beginRun(now: now)
                calls.reset(.crash(at: index))
                _ = try? run.recover(
                    now: now,
                    telling: { (ends) throws(SpoolError) in
                        first = ends.map(\.entry)
                        return true
                    })
            }
            let told = try first + tell(fresh) + tell(fresh)
            #expect(told.first == Entry(state: .delivered, name: entry.name), "call \(index)")
            #expect(told.count == 1 || told.count == 2 && first.count == 1, "call \(index)")
            #expect(try fresh.entries().isEmpty && fresh.names("claimed").isEmpty)
            if calls.count >= index { continue }
            #expect(told.count == 1)
            break
        }
    }

    /// Recovers dead runs. Returns the ends that they had not told.
    private func tell(_ queue: TemporaryQueue) throws -> [Entry] {
        var told: [Entry] = []
        let run = try queue.open().beginRun(now: now)
        _ = try run.recover(
            now: now,
            telling: { (ends) throws(SpoolError) in
                told += ends.map(\.entry)
                return true
            })
        try run.end()
        return told
    }

    @Test func `a crash at any call of recovery loses nothing`() throws {
        for index in 1... {
            let fresh = try TemporaryQueue()
            let entries = try fresh.add(["a", "b"])
            do {
                let run = try fresh.open().beginRun(now: now)
                run.begin(try entries.map { try #require(try run.claim($0)) })
            }
            let calls = InterceptedCalls()
            do {
                let open = try fresh.open(calls.calls)
                calls.reset(.crash(at: index))
                if let run = try? open.beginRun(now: now) {
                    _ = try? run.recover(now: now)
                    try? run.end()
                }
            }
            try fresh.recover()
            let names = try fresh.entries()
            #expect(names.map { "\($0.state) \($0.name.id)" }.sorted() == ["new a", "new b"])
            #expect(names.allSatisfy { $0.name.interruptions == 1 })
            #expect(fresh.names("claimed").isEmpty && fresh.names("tmp").isEmpty)
            if calls.count < index { break }
        }
    }

    @Test func `after an error at any call of recovery the next recovery returns everything`() throws {
        for index in 1... {
            let fresh = try TemporaryQueue()
            let entries = try fresh.add(["a", "b"])
            do {
                let run = try fresh.open().beginRun(now: now)
                for entry in entries { _ = try run.claim(entry) }
            }
            let calls = InterceptedCalls()
            do {
                let open = try fresh.open(calls.calls)
                let run = try open.beginRun(now: now)
                calls.reset(.error(EIO, at: index))
                _ = try? run.recover(now: now)
                try? run.end()
            }
            try fresh.recover()
            #expect(try fresh.entries().map { "\($0.state) \($0.name.id)" }.sorted() == ["new a", "new b"])
            #expect(fresh.names("claimed").isEmpty)
            if calls.count < index { break }
        }
    }
}
