import CSystem
import Foundation
import Policy
import Spool
import Testing

/// A full cycle of claims, with a crash or an error at every system call, so new calls are covered automatically.
struct SweepTests {
    let now = TemporaryQueue.now

    static let dispositions: [Disposition] = [
        .delivered(keep: false), .delivered(keep: true), .deferred(until: TemporaryQueue.now, countsAttempt: true),
        .putBack, .held, .failed(countsAttempt: true), .quarantined(reason: "x"),
    ]

    /// Returns whether the settlement was answered and synced.
    func cycle(_ open: SpoolDirectory, _ entry: Entry, _ disposition: Disposition, ends: Bool) -> Bool {
        guard let run = try? open.beginRun(now: now) else { return false }
        defer { if ends { try? run.end() } }
        do {
            guard let claim = try run.claim(entry) else { return false }
            guard case .operation = try run.read(claim) else { return false }
            let record = disposition == .putBack ? nil : TemporaryQueue.record()
            _ = try run.settle(claim, as: disposition, record: record)
            try run.sync()
            return true
        } catch {
            return false
        }
    }

    @Test(arguments: dispositions, [true, false])
    func `after a crash or an error at any call, the operation is whole and in a single place`(
        disposition: Disposition, isCrash: Bool
    ) throws {
        for links in [false, true] {
            for index in 1... {
                let queue = try TemporaryQueue()
                let entry = try queue.add(["a"])[0]
                let calls = InterceptedCalls()
                var isAnswered = false
                do {
                    var system = calls.calls
                    if links { system.renameNoReplace = { (_, _, _) throws(Errno) in throw Errno(EINVAL) } }
                    let open = try queue.open(system)
                    calls.reset(isCrash ? .crash(at: index) : .error(EIO, at: index))
                    isAnswered = cycle(open, entry, disposition, ends: !isCrash)
                }
                #expect(calls.descriptors.isEmpty)
                let recovery: Recovery
                do throws(SpoolError) {
                    recovery = try queue.recover()
                } catch {
                    Issue.record("call \(index), links \(links): \(error), errno \(error.code)")
                    return
                }
                #expect(recovery.errors.isEmpty)
                let entries = try queue.entries()
                // A failed copy is lost: the operation is not sent again.
                let mayBeGone =
                    disposition == .delivered(keep: false) || disposition == .delivered(keep: true) && !isCrash
                #expect(
                    entries.count == 1 || entries.isEmpty && mayBeGone, "\(disposition) \(links) \(index) \(entries)")
                for left in entries {
                    guard case .operation(let stored) = try queue.open().read(left) else { throw Errno(0) }
                    #expect(
                        stored.operation.header == queue.operation("a").header
                            && stored.operation.body == queue.operation("a").body)
                }
                if isAnswered {
                    #expect(entries.first?.state == expected(disposition) || entries.isEmpty && mayBeGone)
                    #expect(entries.first?.name.interruptions ?? 0 == 0)
                    #expect(entries.first?.name.isHeld ?? false == (disposition == .held))
                }
                #expect(queue.names("claimed").isEmpty && queue.names("tmp").isEmpty)
                if calls.count < index { break }
            }
        }
    }

    func expected(_ disposition: Disposition) -> QueueState? {
        switch disposition {
        case .delivered(let keep): keep ? .delivered : nil
        case .deferred: .deferred
        case .putBack, .held, .superseded: .new
        case .failed: .failed
        case .quarantined: .quarantine
        }
    }

    @Test func `several runs over a queue deliver each operation once`() throws {
        let queue = try TemporaryQueue()
        let entries = try queue.add((0..<60).map { "o\($0)" })
        let runs = try (0..<8).map { _ in try queue.open().beginRun(now: now) }
        var delivered: [EntryName] = []
        for (index, entry) in entries.enumerated() {
            for offset in 0..<8 {
                let run = runs[(index + offset) % 8]
                guard let claim = try run.claim(entry) else { continue }
                delivered.append(claim.name)
                _ = try run.settle(claim, as: .delivered(keep: false))
            }
        }
        for run in runs { try run.end() }
        #expect(delivered == entries.map(\.name))
        #expect(try queue.entries().isEmpty && queue.names("claimed").isEmpty)
    }
}
