import CSystem
import Foundation
import Spool
import Testing

@testable import Policy

/// The names lock: no process renames a waiting operation while a run decides an order.
struct NamesLockTests {
    let queue: TemporaryQueue
    let now = TemporaryQueue.now

    init() throws {
        queue = try TemporaryQueue()
    }

    /// Opens the queue as another process, whose waits end at once and are reported to `waited`.
    private func other(_ waited: @escaping (Duration) -> Void = { _ in }) throws -> SpoolDirectory {
        var system = SystemCalls.real
        system.sleep = waited
        return try queue.open(system)
    }

    @Test func `an operator renames no waiting operation while another process has the names lock`() throws {
        let entries = try queue.add(["a", "b", "c"])
        let lister = try queue.open()
        var waited = Duration.zero
        let operators = try other { waited += $0 }
        _ = try #require(try lister.hold(entries[2]))
        var held = entries[2]
        held.name.isHeld = true
        let steps: [() throws -> Void] = [
            { _ = try operators.hold(entries[0]) },
            { _ = try operators.retry(entries[1], now: now, notBefore: now + .seconds(1)) },
            { _ = try operators.release(held, now: now) },
            { _ = try operators.drop(entries[0], having: nil, at: nil) },
        ]
        try lister.withNamesLock { () throws(SpoolError) in
            for step in steps {
                waited = .zero
                let error = #expect(throws: SpoolError.self) { try step() }
                #expect(error?.description == "cannot lock 'state/names.lock': Resource temporarily unavailable")
                #expect(waited >= .seconds(30))
            }
        }
        #expect(try Set(queue.entries()) == [entries[0], entries[1], held])
        for step in steps.dropLast() { try step() }
        #expect(try queue.entries().count { $0.name.isHeld } == 1)
    }

    @Test func `the claims of a dead run come back once the names lock is free`() throws {
        let entry = try queue.add(["a"])[0]
        do {
            let run = try queue.open().beginRun(now: now)
            _ = try #require(try run.claim(entry))
        }
        let lister = try queue.open()
        let run = try other().beginRun(now: now)
        let early = try lister.withNamesLock { () throws(SpoolError) in try run.recover(now: now) }
        #expect(early.returned.isEmpty && early.errors.map(\.isLocked) == [true])
        #expect(try run.recover(now: now).returned.count == 1)
        try run.end()
    }

    @Test func `the names lock is reentrant, and free again after an error`() throws {
        let lister = try queue.open()
        #expect(throws: SpoolError.self) {
            try lister.withNamesLock { () throws(SpoolError) in
                try lister.withNamesLock { () throws(SpoolError) in _ = try lister.readState("spare") }
            }
        }
        let patience = Duration.zero
        try other().withNamesLock(patience: patience) { () throws(SpoolError) in }
    }

    // MARK: - Many operations

    /// Opens the queue as a process whose clock moves a millisecond with each read. `log` gets its locks, unlocks,
    /// moves, syncs and sleeps.
    private func counting(_ log: @escaping (String) -> Void) throws -> SpoolDirectory {
        var system = SystemCalls.real
        let real = system
        var clock = Duration.zero
        system.elapsed = {
            clock += .milliseconds(1)
            return clock
        }
        system.sleep = { log("sleep \($0.wholeMicroseconds)") }
        system.lock = { (descriptor) throws(Errno) in
            log("lock")
            return try real.lock(descriptor)
        }
        system.unlock = { (descriptor) throws(Errno) in
            log("unlock")
            try real.unlock(descriptor)
        }
        system.fsync = { (descriptor) throws(Errno) in log("fsync") }
        system.renameNoReplace = { (root, from, to) throws(Errno) in
            log("move")
            try real.renameNoReplace(root, from, to)
        }
        return try queue.open(system)
    }

    @Test func `many operations share the names lock, and the sync follows the unlock`() throws {
        let entries = try queue.add(["a", "b", "c"])
        var log: [String] = []
        let open = try counting { log.append($0) }
        try open.withSharedSyncs { for entry in entries { _ = try? open.hold(entry) } }
        #expect(log == ["lock", "move", "move", "move", "unlock", "fsync"])
        #expect(try queue.entries().allSatisfy(\.name.isHeld))
    }

    @Test func `a change of many operations frees the names lock now and then`() throws {
        let entries = try queue.add((0..<100).map { "a\($0)" })
        var log: [String] = []
        var others = 0
        let other = try queue.open()
        let open = try counting { call in
            log.append(call)
            if call == "sleep 2000" {
                try? other.withNamesLock(patience: .zero) { () throws(SpoolError) in others += 1 }
            }
        }
        try open.withSharedSyncs { for entry in entries { _ = try? open.hold(entry) } }
        let turns = log.split(separator: "unlock").map { turn in turn.count { $0 == "move" } }
        #expect(turns.allSatisfy { $0 <= 20 } && turns.reduce(0, +) == 100)
        #expect(log.count { $0 == "lock" } == log.count { $0 == "unlock" })
        #expect(others == log.count { $0 == "sleep 2000" } && others >= 4)
    }

    @Test func `accept keeps the attempts and the due time of an operation attempted before`() throws {
        var operation = queue.operation("a")
        operation.attempts = [TemporaryQueue.record()]
        var name = EntryName(naming: operation.header)
        name.attempts = 1
        name.gate = .retryAt(now + .seconds(60))
        let open = try queue.open()
        let accepted = try open.accept(operation, as: name, limits: Limits(), hasOwnID: true)
        guard case .accepted(let written)? = accepted.results.first else { throw Errno(0) }
        #expect(try queue.entries() == [Entry(state: .deferred, name: written)])
        #expect(written.attempts == 1 && written.gate != .open)
        #expect(
            try open.accept(operation, as: name, limits: Limits(), hasOwnID: true).results
                == [.duplicate(of: .deferred)])
    }
}
