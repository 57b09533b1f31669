import CSystem
import Delivery
import Spool
import Testing

@testable import Drain
@testable import Policy

/// `onFailure: "hold"`: a dead letter holds the operations behind.
struct HeldBehindFailedTests {
    private func bench(_ ordering: Ordering, _ onFailure: OnFailure = .hold) throws -> Bench {
        let bench = try Bench()
        bench.configuration.defaultRoute.ordering = ordering
        bench.configuration.defaultRoute.onFailure = onFailure
        return bench
    }

    @Test(arguments: [Ordering.key, .strict])
    func `operations behind a dead letter are held in this run and the next, and all other operations go on`(
        ordering: Ordering
    ) throws {
        let bench = try bench(ordering)
        try bench.add(3) { $0.key = "a" }
        try bench.add(1, type: "other") { $0.key = "a" }
        let first = try bench.run { $0.url.contains("two") ? .status(204) : .status(422) }
        #expect(first.failed == 1 && first.delivered == 1 && first.attempts == 2)
        #expect(try bench.run().attempts == 0)
        try bench.add(1) { $0.key = "a" }
        let later = try bench.run()
        #expect(later.attempts == 0 && later.held == 3)
        try bench.add(1) { $0.key = "b" }
        #expect(try bench.run().delivered == (ordering == .key ? 1 : 0))
    }

    @Test(arguments: [Ordering.key, .strict])
    func `an expired operation does not hold its sequence, because nothing failed`(ordering: Ordering) throws {
        let bench = try bench(ordering)
        let end = bench.now + .seconds(10)
        try bench.add(1) { ($0.key, $0.expiresAt) = ("a", end) }
        try bench.add(1) { $0.key = "a" }
        bench.now = bench.now + .seconds(20)
        let (first, second) = (try bench.run(), try bench.run())
        #expect(first.expired == 1 && first.delivered + second.delivered == 1 && second.held == 0)
        #expect(try bench.names(.failed).count == 1 && bench.names(.new).isEmpty)
    }

    @Test func `a dead letter that had expired before holds its sequence after a failure without a record`() throws {
        var isFull = false
        var system = SystemCalls.real
        system.open = { (directory, path, flags, mode) throws(Errno) in
            let text = String(cString: path)
            let isRecord = flags & O_APPEND != 0 && text.hasPrefix("claimed/") && text.hasSuffix(".json")
            if isFull, isRecord { throw Errno(ENOSPC) }
            return try SystemCalls.real.open(directory, path, flags, mode)
        }
        let bench = try Bench(system: system)
        bench.configuration.defaultRoute.ordering = .key
        bench.configuration.defaultRoute.onFailure = .hold
        let end = bench.now + .seconds(10)
        try bench.add(1) { ($0.key, $0.expiresAt) = ("a", end) }
        bench.now = bench.now + .seconds(20)
        #expect(try bench.run().expired == 1)
        let failed = Entry(state: .failed, name: try #require(try bench.names(.failed).first))
        let old = try #require(try bench.spool.portable(failed)).get()
        var header = old.header
        header.expiresAt = bench.now + .seconds(3600)
        let file = OperationFile.encode(Operation(header: header, body: old.body, attempts: old.attempts))
        let edited = Submission(try PortableOperation(failed, file: file), at: bench.now)
        var control = AdmissionControl(bench.configuration)
        #expect(try bench.spool.accept([edited], within: &control, replacing: true).replaced == [failed])
        _ = try bench.spool.retry(failed, now: bench.now)
        try bench.add(1) { $0.key = "a" }
        bench.now = bench.now + .seconds(1)
        isFull = true
        let refused = try bench.run { _ in .status(400) }
        #expect(refused.failed == 1 && refused.attempts == 1)
        isFull = false
        let later = try bench.run()
        #expect(later.attempts == 0 && later.held == 1)
    }

    @Test func `with proceed, operations behind a dead letter go on`() throws {
        let bench = try bench(.key, .proceed)
        try bench.add(2) { $0.key = "a" }
        let summary = try bench.run { _ in bench.bodies.last == "0" ? .status(422) : .status(204) }
        #expect(summary.failed == 1 && summary.delivered == 1)
    }

    @Test func `a retry sends the dead letter first, and the operations behind afterwards`() throws {
        let bench = try bench(.key)
        try bench.add(3) { $0.key = "a" }
        _ = try bench.run { _ in .status(422) }
        let failed = try #require(bench.names(.failed).first)
        _ = try bench.spool.retry(Entry(state: .failed, name: failed), now: bench.now)
        bench.now = bench.now + .seconds(1)
        #expect(try bench.run().delivered == 3)
        #expect(bench.bodies == ["0", "1", "2"])
    }

    @Test func `a drop of the dead letter releases the operations behind`() throws {
        let bench = try bench(.key)
        try bench.add(3) { $0.key = "a" }
        _ = try bench.run { _ in .status(422) }
        let failed = try #require(bench.names(.failed).first)
        _ = try bench.spool.drop(Entry(state: .failed, name: failed))
        #expect(try bench.run().delivered == 2)
        #expect(bench.bodies == ["1", "2"])
    }

    @Test func `in a storm no operation goes before an older operation that may fail`() throws {
        let bench = try bench(.key)
        for key in ["a", "b", "c", "d", "e", "f"] { try bench.add(2) { $0.key = key } }
        let summary = try bench.run { _ in .status(404) }
        // The older operation of each pair has an even number.
        #expect(!bench.bodies.isEmpty && bench.bodies.allSatisfy { Int($0)?.isMultiple(of: 2) == true })
        #expect(summary.failed == 0)
    }

    @Test func `an operation of send is held behind a dead letter`() throws {
        let bench = try bench(.key)
        try bench.add(1) { $0.key = "a" }
        _ = try bench.run { _ in .status(422) }
        bench.now = bench.now + .seconds(1)
        #expect(try bench.send("x", key: "a").word == "held")
        #expect(try bench.names(.new).count == 1)
    }

    @Test func `a dead letter does not hold a newer value that replaces it`() throws {
        let bench = try bench(.key)
        bench.configuration.defaultRoute.coalesce = true
        try bench.add(1) { $0.key = "a" }
        #expect(try bench.run { _ in .status(404) }.failed == 1)
        try bench.add(1) { $0.key = "a" }
        let summary = try bench.run()
        #expect(summary.delivered == 1 && summary.superseded == 1 && bench.bodies.last == "1")
        #expect(try bench.names(.failed).isEmpty)
    }

    @Test func `a newer value waits for an operation between that the dead letter holds`() throws {
        let bench = try bench(.strict)
        bench.configuration.defaultRoute.coalesce = true
        try bench.add(1) { $0.key = "a" }
        #expect(try bench.run { _ in .status(404) }.failed == 1)
        try bench.add(1) { $0.key = "b" }
        try bench.add(1) { $0.key = "a" }
        #expect(try bench.run().attempts == 0)
    }
}
