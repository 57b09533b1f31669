import CSystem
import Foundation
import Spool
import Testing

@testable import Policy

/// The checks of admission, which are the same for every way into the queue.
struct OneWayInTests {
    let queue: TemporaryQueue
    let now = TemporaryQueue.now

    init() throws {
        queue = try TemporaryQueue()
    }

    private func ids(_ directory: String = "new") throws -> [String] {
        try queue.entries().filter { $0.state.rawValue == directory }.map(\.name.id.description).sorted()
    }

    private func submission(
        _ id: String, _ offset: Int = 0, key: String? = nil, type: String = "default", body: String = "1",
        createdAt: Timestamp? = nil
    ) -> Submission {
        var operation = queue.operation(id, offset, body: body)
        operation.header.key = key
        operation.header.type = TypeName(type)!
        if let createdAt { operation.header.createdAt = createdAt }
        return Submission(operation, hasOwnID: true, at: now + .microseconds(offset), isDated: createdAt != nil)
    }

    private func accept(
        _ submissions: [Submission], _ configuration: Configuration = Configuration(), durable: Bool = true,
        allOrNone: Bool = false, in open: SpoolDirectory? = nil
    ) throws -> Accepted {
        var control = AdmissionControl(configuration)
        return try (open ?? queue.open()).accept(
            submissions, within: &control, durable: durable, allOrNone: allOrNone)
    }

    // MARK: - Ids

    @Test func `accept waits while another process adds the id, and adds the id if the process fails`() throws {
        let calls = InterceptedCalls()
        var patient = SystemCalls.real
        patient.sleep = { _ in }
        let second = try queue.open(patient)
        var system = calls.calls
        var syncs = 0
        var isLocked = false
        system.fsync = { (_) throws(Errno) in
            syncs += 1
            guard syncs == 2 else { return }
            // The name is in new/, but not durable.
            do {
                _ = try accept([submission("x")], in: second)
            } catch {
                isLocked = (error as? SpoolError)?.isLocked ?? false
            }
            throw Errno(EIO)
        }
        let failing = try queue.open(system)
        #expect(throws: SpoolError.self) { try accept([submission("x")], in: failing) }
        #expect(isLocked && queue.names("new").isEmpty)
        guard case .accepted = try accept([submission("x")], in: second).results[0] else { throw Errno(0) }
        #expect(try ids() == ["x"])
    }

    @Test func `accept makes a duplicate durable before the answer`() throws {
        _ = try accept([submission("x")], durable: false)
        let calls = InterceptedCalls()
        let open = try queue.open(calls.calls)
        calls.reset()
        #expect(try accept([submission("x")], in: open).results == [.duplicate(of: .new)])
        #expect(calls.log.filter { $0 == "fsync" }.count == 2)
        calls.reset(.always("fsync", EIO))
        #expect(throws: SpoolError.self) { try accept([submission("x")], in: open) }
    }

    @Test func `an operation claimed by send takes its id, also after the death of the process`() throws {
        let other = try queue.open()
        var run: SpoolRun? = try queue.open().beginRun(now: nil)
        var control = AdmissionControl(Configuration())
        var sent = submission("x")
        guard case .accepted(let claim)? = try run?.accept(&sent, within: &control) else { throw Errno(0) }
        #expect(try other.existing(OperationID("x")!) == .mayEnd)
        // Its server may refuse the operation, and then nothing is kept of it.
        #expect(try accept([submission("x")], in: other).results == [.isBeingSent])
        guard case .exists(.mayEnd)? = try run?.accept(&sent, within: &control) else { throw Errno(0) }
        #expect(claim.isOpen && queue.names("tmp").isEmpty)
        run = nil
        #expect(try accept([submission("x")], in: other).results == [.duplicate(of: .claimed)])
        try queue.recover()
        #expect(try other.existing(OperationID("x")!) == .stays(.new) && ids() == ["x"])
    }

    @Test func `an id is free whose operation send has refused between the search and the answer`() throws {
        let run = try queue.open().beginRun(now: nil)
        var control = AdmissionControl(Configuration())
        var sent = submission("x")
        guard case .accepted(let claim) = try run.accept(&sent, within: &control) else { throw Errno(0) }
        var system = SystemCalls.real
        system.list = { (directory, path, body) throws(Errno) in
            try SystemCalls.real.list(directory, path, body)
            if claim.isOpen, String(cString: path).hasSuffix(run.name) {
                _ = try? run.settle(claim, as: .failed(countsAttempt: true))
                try? run.refuse(claim, because: nil, at: TemporaryQueue.now)
                try? run.end()
            }
        }
        guard case .accepted = try accept([submission("x")], in: queue.open(system)).results[0] else { throw Errno(0) }
        #expect(!claim.isOpen && queue.names("claimed").isEmpty)
        #expect(try ids() == ["x"])
    }

    @Test func `send syncs an accepted operation before its claim, and does not sync the claim`() throws {
        let calls = InterceptedCalls()
        let open = try queue.open(calls.calls)
        let run = try open.beginRun(now: now)
        var control = AdmissionControl(Configuration())
        var sent = submission("x")
        calls.reset()
        guard case .accepted = try run.accept(&sent, within: &control) else { throw Errno(0) }
        #expect(calls.log.filter { $0 == "fsync" }.count == 1)
        calls.reset(.always("fsync", EIO))
        var failing = submission("y", 1)
        #expect(throws: SpoolError.self) { try run.accept(&failing, within: &control) }
        calls.reset()
        try run.end()
        #expect(try ids() == ["x"])
    }

    @Test func `an operation with the id of a refused or rejected operation is no duplicate`() throws {
        let long = String(repeating: "k", count: 1025)
        let results = try accept(
            [submission("x", key: long), submission("x", 1, body: "12345"), submission("x", 2)],
            Configuration(limits: Limits(operationBytes: 4))
        ).results
        #expect(results[0] == .refused("field 'key': longer than 1024 bytes"))
        #expect(results[1] == .rejected(.operationBytes(4)))
        guard case .accepted = results[2] else { throw Errno(0) }
    }

    // MARK: - Room

    @Test(arguments: [false, true])
    func `an operation that cannot fit evicts nothing`(byFreeSpace: Bool) throws {
        try queue.add((0..<10).map { "o\($0)" })
        let size = OperationFile.encode(queue.operation("o0")).count
        var limits = Limits(bytes: size * 12, whenFull: .dropOldest)
        var system = SystemCalls.real
        if byFreeSpace {
            limits = Limits(minimumFree: 1_000_000, whenFull: .dropOldest)
            system.freeBytes = { (_) throws(Errno) in 900_000 }
        }
        let accepted = try accept(
            [submission("big", 20, body: "\"\(String(repeating: "x", count: size * 12))\"")],
            Configuration(limits: limits), in: queue.open(system))
        #expect(accepted.evicted.isEmpty && queue.names("new").count == 10)
        guard case .rejected = accepted.results[0] else { throw Errno(0) }
    }

    @Test func `superseded values make room before an operation is evicted or rejected`() throws {
        for whenFull in [Limits.WhenFull.dropOldest, .reject] {
            let fresh = try OneWayInTests()
            var configuration = Configuration(limits: Limits(operations: 10, whenFull: whenFull))
            configuration.defaultRoute.coalesce = true
            _ = try fresh.accept([fresh.submission("only", 0, key: "other")], configuration)
            // Twenty values are added alone, a hundred together.
            for number in 1...20 {
                let accepted = try fresh.accept([fresh.submission("v\(number)", number, key: "k")], configuration)
                #expect(accepted.evicted.isEmpty)
            }
            let batch = (21...120).map { fresh.submission("v\($0)", $0, key: "k") }
            let accepted = try fresh.accept(batch, configuration)
            #expect(accepted.evicted.isEmpty && accepted.superseded.count >= 100)
            #expect(accepted.results.allSatisfy { if case .accepted = $0 { true } else { false } })
            let left = try fresh.ids()
            #expect(left.count == 10 && left.contains("only") && left.contains("v120"))
        }
    }

    @Test func `a rejected operation supersedes nothing, and its older value stays`() throws {
        var configuration = Configuration(limits: Limits(bytes: 2000))
        configuration.defaultRoute.coalesce = true
        _ = try accept([submission("old", 0, key: "k")], configuration)
        let big = "\"\(String(repeating: "x", count: 1900))\""
        let accepted = try accept([submission("big", 1, key: "k", body: big)], configuration)
        #expect(accepted.superseded.isEmpty)
        #expect(try ids() == ["old"])
    }

    // MARK: - Time

    @Test func `a future time of creation becomes the present, after all operations of the sequence`() throws {
        var configuration = Configuration()
        configuration.defaultRoute.coalesce = true
        let far = Timestamp.lastInNames
        guard
            case .accepted(let first) = try accept(
                [submission("a", 1, key: "k", createdAt: far)], configuration
            ).results[0]
        else { throw Errno(0) }
        #expect(first.createdAt == now + .microseconds(1))
        // The clock of b's process was ahead.
        _ = try accept([submission("b", 3_600_000_000, key: "k")], configuration)
        guard
            case .accepted(let third) = try accept(
                [submission("c", 2, key: "k", createdAt: far)], configuration
            ).results[0]
        else { throw Errno(0) }
        #expect(third.createdAt == now + .microseconds(3_600_000_001))
        // A time in the past stays.
        guard
            case .accepted(let fourth) = try accept(
                [submission("d", 3, key: "k", createdAt: now)], configuration
            ).results[0]
        else { throw Errno(0) }
        #expect(fourth.createdAt == now)
    }

    @Test func `an undated operation is newer than operations queued by another process since the last batch`() throws {
        var configuration = Configuration()
        configuration.defaultRoute.coalesce = true
        var control = AdmissionControl(configuration)
        let open = try queue.open()
        func add(_ submissions: [Submission]) throws -> [Timestamp] {
            try open.accept(submissions, within: &control).results.map { result in
                guard case .accepted(let name) = result else { throw Errno(0) }
                return name.createdAt
            }
        }
        #expect(try add([submission("a", 1, key: "k")]) == [now + .microseconds(1)])
        let ahead = now + .seconds(30)
        _ = try accept([submission("b", 2, key: "k", createdAt: ahead)], configuration)
        #expect(try add([submission("c", 3, key: "k")]) == [ahead + .microseconds(1)])
        // The same within one batch.
        let later = ahead + .seconds(10)
        #expect(
            try add([submission("d", 4, key: "k", createdAt: later), submission("e", 5, key: "k")])
                == [later, later + .microseconds(1)])
    }

    /// A retry brings it back, and it must not pass for the newest value then.
    @Test(arguments: [Disposition.failed(countsAttempt: true), .quarantined(reason: "x")])
    func `an operation comes after what a clock ahead has left in failed or quarantine`(end: Disposition) throws {
        var configuration = Configuration()
        configuration.defaultRoute.coalesce = true
        func add(_ submission: Submission) throws -> EntryName {
            guard case .accepted(let name) = try accept([submission], configuration).results[0] else { throw Errno(0) }
            return name
        }
        let ahead = try add(submission("a", 3_600_000_000, key: "k"))
        let run = try queue.open().beginRun(now: now)
        let claim = try #require(try run.claim(Entry(state: .new, name: ahead)))
        _ = try run.settle(claim, end, record: nil, now: now)
        #expect(try add(submission("b", 2, key: "k")).createdAt == ahead.createdAt + .microseconds(1))
        #expect(try add(submission("c", 2, key: "other")).createdAt == now + .microseconds(2))
    }

    @Test func `an imported operation from the future gets the present time, in its name and its header`() throws {
        var operation = queue.operation("a", 7_200_000_000)
        operation.attempts = [TemporaryQueue.record()]
        var name = EntryName(naming: operation.header)
        name.attempts = 1
        let portable = try PortableOperation(
            Entry(state: .deferred, name: name), file: OperationFile.encode(operation))
        _ = try accept([Submission(portable, at: now)])
        let entry = try #require(try queue.entries().first)
        #expect(entry.name.createdAt == now && entry.name.attempts == 1 && entry.state == .deferred)
        guard case .operation(let stored) = try queue.open().read(entry) else { throw Errno(0) }
        #expect(stored.operation.attempts == operation.attempts && stored.operation.body == operation.body)
    }

    // MARK: - All or none

    @Test func `all or none: after a crash at any call the batch is there whole or not at all`() throws {
        for durable in [true, false] {
            for count in [3, 20] {
                for index in 1... {
                    let fresh = try OneWayInTests()
                    let calls = InterceptedCalls()
                    var isAnswered = false
                    do {
                        let open = try fresh.queue.open(calls.calls)
                        calls.reset(.crash(at: index))
                        let batch = (0..<count).map { fresh.submission("o\($0)", $0) }
                        isAnswered = (try? fresh.accept(batch, durable: durable, allOrNone: true, in: open)) != nil
                    }
                    if index % 2 == 0 {
                        try fresh.queue.recover()
                    } else {
                        // An add of an id of the batch meets the batch.
                        let again = try fresh.accept([fresh.submission("o0", 50)]).results
                        let left = try fresh.ids().count
                        #expect(again == [.duplicate(of: .new)] ? left == count : left == 1 && !isAnswered)
                        if left == 1 { _ = try fresh.queue.open().drop(fresh.queue.entries()[0]) }
                        try fresh.queue.recover()
                    }
                    let left = try fresh.ids().count
                    #expect(left == count || left == 0 && !isAnswered)
                    #expect(fresh.queue.names("tmp").isEmpty)
                    if calls.count < index { break }
                }
            }
        }
    }

    @Test func `all or none: a batch is completed after an error if a run has claimed a part`() throws {
        var system = SystemCalls.real
        var renames = 0
        let run = try queue.open().beginRun(now: now)
        let rename = system.renameNoReplace
        var taken: Claim?
        system.renameNoReplace = { (directory, from, to) throws(Errno) in
            renames += 1
            if renames == 2 {
                if let entry = try? queue.entries().first { taken = try? run.claim(entry) }
                throw Errno(EIO)
            }
            try rename(directory, from, to)
        }
        let open = try queue.open(system)
        #expect(throws: SpoolError.self) {
            try accept((0..<3).map { submission("o\($0)", $0) }, allOrNone: true, in: open)
        }
        #expect(taken != nil && queue.names("new").isEmpty)
        try queue.recover()
        #expect(queue.names("new").count == 2)
        try run.end()
        #expect(try ids() == ["o0", "o1", "o2"])
    }

    @Test func `a committed batch of a dead writer precedes later operations of its sequences`() throws {
        var configuration = Configuration()
        configuration.defaultRoute.coalesce = true
        for index in 1... {
            let fresh = try OneWayInTests()
            let calls = InterceptedCalls()
            do {
                let open = try fresh.queue.open(calls.calls)
                calls.reset(.crash(at: index))
                let batch = (0..<3).map { fresh.submission("o\($0)", $0, key: "k\($0)") }
                _ = try? fresh.accept(batch, configuration, allOrNone: true, in: open)
            }
            var newer = fresh.queue.operation("newer")
            newer.header.key = "k2"
            _ = try fresh.accept([Submission(newer, hasOwnID: false, at: now, isDated: false)], configuration)
            let standing = try fresh.queue.entries()
            #expect(standing.count == 1 || standing.count == 4)
            try fresh.queue.recover()
            #expect(try Set(fresh.queue.entries()) == Set(standing))
            var times: [String: Timestamp] = [:]
            for entry in standing { times[entry.name.id.description] = entry.name.createdAt }
            for number in 0..<3 where standing.count == 4 {
                #expect(times["o\(number)"] == now + .microseconds(number))
            }
            #expect(times["newer"]! > times["o2"] ?? now - .microseconds(1))
            if calls.count < index { break }
        }
    }

    // MARK: - Foreign files

    private func admit(_ configuration: Configuration) throws -> Admission {
        let run = try queue.open().beginRun(now: now)
        var control = AdmissionControl(configuration)
        let admission = try run.admitForeign(now: now, within: &control)
        try run.end()
        return admission
    }

    @Test func `a file may be dropped under any name`() throws {
        for name in ["lock", "x.reason", "committed", "admitting-x"] { try queue.put("5", at: "new/\(name)") }
        #expect(try queue.open().forEachEntry(in: .new) { _ in } == 4)
        #expect(try admit(Configuration()).admitted.count == 4)
    }

    @Test func `a foreign file is admitted although the queue is full`() throws {
        _ = try queue.add(["a", "b"])
        try queue.put(#"{"drainq":1,"id":"x","payload":5}"#, at: "new/x")
        let full = try admit(Configuration(limits: Limits(operations: 2)))
        #expect(full.admitted.map(\.name.id.description) == ["x"] && full.errors.isEmpty && full.evicted.isEmpty)
        #expect(try queue.entries().count == 3)
    }

    @Test func `a foreign file with an id claimed by send goes to quarantine, and keeps no other file out`() throws {
        let sending = try queue.open().beginRun(now: now)
        var control = AdmissionControl(Configuration())
        var sent = submission("x")
        guard case .accepted = try sending.accept(&sent, within: &control) else { throw Errno(0) }
        try queue.put(#"{"drainq":1,"id":"x","payload":5}"#, at: "new/x")
        try queue.put(#"{"drainq":1,"id":"y","payload":5}"#, at: "new/y")
        let admission = try admit(Configuration())
        #expect(admission.admitted.map(\.name.id.description) == ["y"] && admission.quarantined.count == 1)
        #expect(!admission.hasMore && admission.errors.isEmpty)
        try sending.end()
    }

    @Test func `dropOldest evicts older operations for a foreign file, never newer operations`() throws {
        let old = try queue.add(["a", "b"])
        let dropping = Configuration(limits: Limits(operations: 2, whenFull: .dropOldest))
        try queue.put(#"{"drainq":1,"id":"x","payload":5}"#, at: "new/x")
        let newer = try admit(dropping)
        #expect(newer.admitted.map(\.name.id.description) == ["x"] && newer.evicted == [old[0]])
        try queue.put(#"{"drainq":1,"id":"y","createdAt":"2001-02-03T04:05:06Z","payload":5}"#, at: "new/y")
        let older = try admit(dropping)
        #expect(older.admitted.map(\.name.id.description) == ["y"] && older.evicted.isEmpty)
        #expect(try queue.entries().count == 3)
    }

    @Test func `admission quarantines a foreign file that could never be sent, and redates files from the future`()
        throws
    {
        var configuration = Configuration(defaultRoute: Route(url: "http://one/", overrides: []))
        configuration.defaultRoute.coalesce = true
        try queue.put(#"{"drainq":1,"id":"x","url":"http://two/","payload":5}"#, at: "new/x")
        try queue.put(
            #"{"drainq":1,"id":"y","key":"k","createdAt":"9999-12-31T23:59:59.999999Z","payload":5}"#, at: "new/y")
        _ = try accept([submission("ahead", 3_600_000_000, key: "k")], configuration)
        try queue.put(#"{"drainq":1,"id":"z","key":"k","payload":5}"#, at: "new/z")
        let admission = try admit(configuration)
        #expect(admission.quarantined.count == 1)
        let times = Dictionary(
            uniqueKeysWithValues: admission.admitted.map { ($0.name.id.description, $0.name.createdAt) })
        #expect(times.keys.sorted() == ["y", "z"])
        #expect(times.values.allSatisfy { $0 > now + .seconds(3600) && $0 < now + .seconds(3601) })
    }

    @Test func `a run that dies after its copy has replaced a foreign file leaves only the copy`() throws {
        try queue.put("5", at: "new/x")
        let calls = InterceptedCalls()
        do {
            let run = try queue.open(calls.calls).beginRun(now: now)
            // The copy is in place, and its rename to the final name fails.
            calls.reset(.always("renameNoReplace", EIO))
            var control = AdmissionControl(Configuration())
            #expect(try run.admitForeign(now: now, within: &control).admitted.isEmpty)
            calls.reset()
        }
        #expect(queue.names("new").isEmpty)
        try queue.recover()
        #expect(queue.names("new").count == 1 && queue.names("claimed").isEmpty)
        // The next admission names it.
        #expect(try queue.entries().isEmpty)
        let admitted = try admit(Configuration()).admitted
        #expect(admitted.count == 1 && admitted.first?.name.interruptions == 0)
        #expect(try queue.entries() == admitted && admit(Configuration()) == Admission())
    }

    // MARK: - Quarantine

    @Test func `a file back from quarantine passes the same checks, and reports the evicted operations`() throws {
        let added = try queue.add(["a", "bad", "b"])
        let open = try queue.open()
        let run = try open.beginRun(now: now)
        _ = try run.settle(try #require(try run.claim(added[1])), .quarantined(reason: "x"), record: nil, now: now)
        try run.end()
        let item = try #require(try open.quarantined().first)
        func readmit(
            _ limits: Limits, isDryRun: Bool = false
        ) throws -> (results: [Readmission], accepted: Accepted) {
            try open.readmit([item], Configuration(limits: limits), now: now, isDryRun: isDryRun)
        }
        #expect(
            try readmit(Limits(operations: 2)).results == [.refused("the queue holds 2 operations, its limit")])
        let small = try readmit(Limits(operationBytes: 1))
        #expect(small.results == [.refused("the operation is larger than the limit of 1B")])
        #expect(try readmit(Limits(), isDryRun: true).results == [.admitted])
        #expect(queue.names("new").count == 2 && queue.names("quarantine").count == 2)
        let result = try readmit(Limits(operations: 2, whenFull: .dropOldest))
        #expect(result.results == [.admitted] && result.accepted.evicted == [added[0]])
        #expect(try ids() == ["b", "bad"])
        #expect(try readmit(Limits()).results == [.gone] && queue.names("quarantine").isEmpty)
    }

    /// Puts operations of these ids into quarantine.
    private func quarantine(_ ids: [String]) throws -> [QuarantineItem] {
        let added = try queue.add(ids)
        let open = try queue.open()
        let run = try open.beginRun(now: now)
        for entry in added {
            _ = try run.settle(try #require(try run.claim(entry)), .quarantined(reason: "x"), record: nil, now: now)
        }
        try run.end()
        return try open.quarantined()
    }

    @Test func `files back from quarantine together share the search for their ids, and the syncs`() throws {
        let items = try quarantine((0..<100).map { "a\($0)" })
        let calls = InterceptedCalls()
        let open = try queue.open(calls.calls)
        calls.reset()
        #expect(try open.readmit(items, now: now).results == Array(repeating: .admitted, count: 100))
        #expect(calls.log.count { $0 == "list" } < 20 && calls.log.count { $0 == "fsync" } < 20)
        #expect(queue.names("new").count == 100 && queue.names("quarantine").isEmpty)
    }

    @Test func `files back from quarantine together fill the queue no further than its limit`() throws {
        let items = try quarantine(["a", "b", "c"])
        let foreign = #"{"drainq": 1, "id": "b", "payload": 1}"#
        try queue.put(foreign, at: "quarantine/foreign")
        try queue.put(#"{"source":"new"}"#, at: "quarantine/foreign.reason")
        let limits = Limits(operations: 2)
        let open = try queue.open()
        let full = Readmission.refused("the queue holds 2 operations, its limit")
        #expect(
            try open.readmit(items, Configuration(limits: limits), now: now, isDryRun: true).results
                == [.admitted, .admitted, full])
        let conflict = "ids in conflict: an operation with the id 'b' is in the queue already (quarantine)"
        let all = try open.quarantined()
        #expect(
            try open.readmit(all, Configuration(limits: limits), now: now).results
                == [.admitted, .admitted, full, .refused(conflict)])
        #expect(try ids() == ["a", "b"])
        #expect(queue.names("new").count == 2 && queue.names("quarantine").count == 4)
    }

    @Test func `a file back from quarantine evicts an older file of the same batch`() throws {
        let items = try quarantine(["a", "b", "c"])
        let limits = Limits(operations: 2, whenFull: .dropOldest)
        let result = try queue.open().readmit(items, Configuration(limits: limits), now: now)
        #expect(result.results == Array(repeating: .admitted, count: 3))
        #expect(result.accepted.evicted.map(\.name.id.description) == ["a"])
        #expect(try ids() == ["b", "c"] && queue.names("quarantine").isEmpty)
    }
}
