import CSystem
import Foundation
import Spool
import Testing

@testable import Policy

/// Limits count what the server gets: a key of a route that coalesces or merges counts once, and goes whole.
struct KeyLimitTests {
    let queue: TemporaryQueue
    let now = TemporaryQueue.now

    init() throws {
        queue = try TemporaryQueue()
    }

    private func configuration(
        merges: Bool, operations: Int?, bytes: Int? = nil, _ whenFull: Limits.WhenFull = .dropOldest
    ) -> Configuration {
        Configuration(
            defaultRoute: Route(url: "http://one/", coalesce: true, mergesPayloads: merges),
            limits: Limits(operations: operations, bytes: bytes, whenFull: whenFull))
    }

    /// An operation with this key, created `number` microseconds after `now`.
    private func submission(_ id: String, _ key: String?, _ number: Int) -> Submission {
        var operation = queue.operation(id, number)
        operation.header.key = key
        return Submission(operation, hasOwnID: false, at: now + .microseconds(number), isDated: true)
    }

    private func ids(_ state: QueueState? = nil) throws -> [String] {
        try queue.entries().filter { state == nil || $0.state == state }.map { "\($0.name.id)" }.sorted()
    }

    private func isAccepted(_ results: [Acceptance]) -> [Bool] {
        results.map { if case .accepted = $0 { true } else { false } }
    }

    @Test(arguments: [false, true], [Limits.WhenFull.reject, .dropOldest])
    func `a limit of operations counts a key once`(merges: Bool, whenFull: Limits.WhenFull) throws {
        var control = AdmissionControl(configuration(merges: merges, operations: 3, whenFull))
        let open = try queue.open()
        let batch = [
            submission("a", "k", 0), submission("b", "k", 1), submission("c", "l", 2), submission("d", nil, 3),
        ]
        let first = try open.accept(batch, within: &control)
        #expect(isAccepted(first.results) == [true, true, true, true] && first.evicted.isEmpty)
        let more = try open.accept([submission("e", "k", 4), submission("f", "l", 5)], within: &control)
        #expect(isAccepted(more.results) == [true, true] && more.evicted.isEmpty)
        let other = try open.accept([submission("g", "m", 6)], within: &control)
        #expect(isAccepted(other.results) == [whenFull == .dropOldest])
        #expect(other.evicted.map { "\($0.name.id)" } == (whenFull == .dropOldest ? ["d"] : []))
        // Another process counts the same.
        var again = AdmissionControl(configuration(merges: merges, operations: 3, .reject))
        let late = try open.accept([submission("h", "k", 7), submission("i", "n", 8)], within: &again)
        #expect(isAccepted(late.results) == [true, false])
    }

    @Test(arguments: [false, true], [Limits.WhenFull.reject, .dropOldest])
    func `an operation for a key to which another process has added finds room`(
        merges: Bool, whenFull: Limits.WhenFull
    ) throws {
        var control = AdmissionControl(configuration(merges: merges, operations: 3, whenFull))
        var other = AdmissionControl(configuration(merges: merges, operations: 3, whenFull))
        let open = try queue.open()
        _ = try open.accept([submission("a", nil, 0)], within: &control)
        _ = try open.accept([submission("b", "k", 1)], within: &other)
        let last = try open.accept([submission("c", "k", 2), submission("d", "l", 3)], within: &control)
        #expect(isAccepted(last.results) == [true, true] && last.evicted.isEmpty)
    }

    @Test func `a key is evicted whole, and is as old as its newest operation`() throws {
        var control = AdmissionControl(configuration(merges: true, operations: 2))
        let open = try queue.open()
        let batch = [
            submission("a", "k", 0), submission("b", "l", 1), submission("c", "l", 2), submission("d", "k", 3),
        ]
        _ = try open.accept(batch, within: &control)
        let accepted = try open.accept([submission("e", "m", 4)], within: &control)
        #expect(accepted.evicted.map { "\($0.name.id)" } == ["b", "c"])
        #expect(try ids() == ["a", "d", "e"])
        // A patch of the oldest key evicts another key, and not its own.
        _ = try open.accept([submission("f", "m", 5), submission("g", "n", 6)], within: &control)
        #expect(try ids() == ["e", "f", "g"])
        let ended = try open.endings(of: Set(["a", "b", "c", "d", "e"].map { OperationID($0)! })).kinds
        #expect(ended.values.allSatisfy { $0 == .evicted } && ended.count == 4)
    }

    @Test func `a key goes whole or not at all, however the process dies that evicts it`() throws {
        for index in 1... {
            let fresh = try TemporaryQueue()
            let calls = InterceptedCalls()
            do {
                var control = AdmissionControl(configuration(merges: true, operations: 1))
                let open = try fresh.open(calls.calls)
                _ = try open.accept([submission("a", "k", 0), submission("b", "k", 1)], within: &control)
                calls.reset(.crash(at: index))
                // try?: the process dies.
                _ = try? open.accept([submission("c", "l", 2)], within: &control)
            }
            try fresh.recover()
            let ids = try fresh.entries().map { "\($0.name.id)" }.sorted()
            #expect([["a", "b"], ["a", "b", "c"], ["c"]].contains(ids), "call \(index)")
            let open = try fresh.open()
            if ids == ["c"] {
                let ended = try open.endings(of: [OperationID("a")!, OperationID("b")!]).kinds
                #expect(ended.count == 2 && ended.values.allSatisfy { $0 == .evicted }, "call \(index)")
            }
            if calls.count < index { return #expect(ids == ["c"]) }
        }
    }

    @Test func `a key with an operation in flight stays`() throws {
        let limited = configuration(merges: true, operations: 2)
        var control = AdmissionControl(limited)
        let open = try queue.open()
        _ = try open.accept(
            [submission("a", "k", 0), submission("b", "k", 1), submission("c", "l", 2)], within: &control)
        let run = try open.beginRun(now: now)
        let newest = try #require(try queue.entries().first { "\($0.name.id)" == "b" })
        _ = try #require(try run.claim(newest))
        let accepted = try open.accept([submission("d", "m", 3)], within: &control)
        #expect(accepted.evicted.map { "\($0.name.id)" } == ["c"])
        try run.end()
        #expect(try ids() == ["a", "b", "d"])
    }

    /// A run claims an operation of the key between the listing of its keys and that of their parts.
    @Test func `a key of which a run takes an operation between two listings stays`() throws {
        var system = SystemCalls.real
        let real = system
        let (run, path) = (try queue.open().beginRun(now: now), queue.path)
        var taken: Entry?
        system.list = { (directory, listed, body) throws(Errno) in
            try real.list(directory, listed, body)
            guard String(cString: listed) == "deferred", let entry = taken else { return }
            taken = nil
            // try?: the closure throws other errors.
            _ = try? run.claim(entry)
        }
        let open = try queue.open(system)
        var control = AdmissionControl(configuration(merges: true, operations: 2))
        _ = try open.accept(
            [submission("a", "k", 0), submission("b", "k", 1), submission("c", nil, 2)], within: &control)
        taken = try queue.entries().first { "\($0.name.id)" == "b" }
        _ = try open.accept([submission("d", nil, 3)], within: &control)
        #expect(taken == nil && FileManager.default.fileExists(atPath: path))
        try run.end()
        #expect(try ids() == ["a", "b", "d"], "the key stays whole")
    }

    /// A run claims an operation of the key between the choice and the removal.
    @Test func `a key of which a run takes an operation meanwhile is not evicted in part`() throws {
        var system = SystemCalls.real
        let real = system
        var taken: String?
        let path = queue.path
        system.rename = { (directory, from, target, to) throws(Errno) in
            // The second claim of the key.
            if let name = taken, String(cString: from).hasSuffix(name) { throw .missing }
            try real.rename(directory, from, target, to)
        }
        let open = try queue.open(system)
        var control = AdmissionControl(configuration(merges: true, operations: 1))
        _ = try open.accept([submission("a", "k", 0), submission("b", "k", 1)], within: &control)
        taken = try #require(try queue.entries().first { "\($0.name.id)" == "b" }).name.description
        let accepted = try open.accept([submission("c", "l", 2)], within: &control)
        #expect(accepted.evicted.isEmpty && isAccepted(accepted.results) == [true])
        #expect(try ids(.new) == ["a", "b", "c"])
        #expect(!FileManager.default.fileExists(atPath: path + "/state/log/ended"))
    }

    @Test func `an operation for which there is room by the time of the removal stays`() throws {
        let limited = Configuration(limits: Limits(operations: 2, whenFull: .dropOldest))
        var control = AdmissionControl(limited)
        let added = try queue.add(["a", "b"])
        var system = SystemCalls.real
        let real = system
        var isRunning = true
        // A run delivers an operation while the batch is written.
        system.fsync = { (descriptor) throws(Errno) in
            try real.fsync(descriptor)
            guard isRunning else { return }
            isRunning = false
            // The real system does not fail here.
            try? Self.deliver(added[1], self.queue)
        }
        let accepted = try queue.open(system).accept([submission("c", nil, 5)], within: &control)
        #expect(!isRunning && accepted.evicted.isEmpty)
        #expect(try ids() == ["a", "c"])
    }

    private static func deliver(_ entry: Entry, _ queue: TemporaryQueue) throws {
        let run = try queue.open().beginRun(now: TemporaryQueue.now)
        if let claim = try run.claim(entry) {
            _ = try run.settle(claim, as: .delivered(keep: false))
        }
        try run.end()
    }

    @Test func `an operation that was superseded or evicted has a line before its file goes, also on a full disk`()
        throws
    {
        var control = AdmissionControl(configuration(merges: false, operations: nil, bytes: 800))
        let open = try queue.open()
        _ = try open.accept(
            [submission("a", "k", 0), submission("b", "k", 1), submission("c", "k", 2)], within: &control)
        _ = try open.accept(
            [submission("d", "k", 3), submission("e", "k", 4), submission("f", "k", 5)], within: &control)
        let left = try ids()
        let gone = ["a", "b", "c", "d", "e"].filter { !left.contains($0) }
        let endings = try open.endings(of: Set(gone.map { OperationID($0)! })).kinds
        #expect(!gone.isEmpty && endings.count == gone.count && endings.values.allSatisfy { $0 == .superseded })
        #expect(try open.endings(of: []).since == nil)
        let calls = InterceptedCalls()
        let full = try queue.open(calls.calls)
        calls.reset(.always("write", ENOSPC))
        #expect(try full.drop(queue.entries()[0], having: nil, at: now) == .done)
        #expect(try open.endings(of: []).since == now)
    }

    @Test func `no operation is evicted for room that a dropped operation has left, however the drop ended`() throws {
        for index in 1... {
            let queue = try TemporaryQueue()
            var control = AdmissionControl(Configuration(limits: Limits(operations: 3, whenFull: .dropOldest)))
            let adder = try queue.open()
            func add(_ ids: [String]) throws -> Accepted {
                try adder.accept(
                    ids.enumerated().map {
                        Submission(queue.operation($1, $0), hasOwnID: false, at: now, isDated: true)
                    },
                    within: &control)
            }
            _ = try add(["a", "b", "c"])
            let dropped = try #require(try queue.entries().first { $0.name.id.description == "b" })
            let calls = InterceptedCalls()
            do {
                let open = try queue.open(calls.calls)
                calls.reset(.crash(at: index))
                _ = try? open.drop(dropped)
            }
            let isGone = try !queue.entries().contains(dropped)
            let evicted = try add(["d"]).evicted.map(\.name.id.description)
            #expect(evicted == (isGone ? [] : ["a"]), "call \(index)")
            if calls.count < index { break }
        }
    }

    @Test func `of two deliveries of an id the later line counts, although the clock was set back`() throws {
        let first = try queue.add(["a"])[0]
        let run = try queue.open().beginRun(now: now)
        for time in [now + .seconds(3600), now] {
            let claim = try #require(try run.claim(Entry(state: .new, name: first.name)))
            let record = AttemptRecord(at: time, duration: .zero, outcome: .delivered, status: 200, rule: "2xx")
            _ = try run.settle(claim, as: .delivered(keep: false), record: record)
            try run.sync()
            try queue.add(["a"])
        }
        let ending = try queue.open().endings(of: [first.name.id]).last[first.name.id]
        guard case .delivered(_, let at, isKept: false) = ending else { throw Errno(0) }
        #expect(at == now)
        try run.end()
    }

    @Test func `an operation that a run takes before an operator has dropped it has no ending`() throws {
        let added = try queue.add(["a", "b"])
        let run = try queue.open().beginRun(now: now)
        _ = try #require(try run.claim(added[0]))
        let open = try queue.open()
        #expect(try open.drop(added[0], having: nil, at: now) == .isGone)
        #expect(try open.drop(added[1], having: nil, at: now) == .done)
        #expect(
            try open.endings(of: Set(added.map(\.name.id))).kinds == [added[1].name.id: .dropped])
        try run.end()
    }
}

extension Endings {
    /// The kinds of the endings without a delivery.
    var kinds: [OperationID: LogEvent.Kind] {
        last.compactMapValues { if case .event(let event) = $0 { event.kind } else { nil } }
    }
}
