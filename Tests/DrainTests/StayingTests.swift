import CSystem
import Delivery
import Foundation
import Spool
import Testing

@testable import Drain
@testable import Policy

/// Runs that stay: each pass begins and ends like a run.
struct StayingTests {
    private func run(_ bench: Bench, _ options: RunOptions, _ world: World) throws -> RunSummary {
        try Run(spool: bench.spool, configuration: bench.configuration, options: options, world: world) { _ in }()
    }

    @Test func `a changed configuration is in force from the next pass on, and the counts go on`() throws {
        let bench = try Bench()
        try bench.add(1)
        var urls: [String] = []
        let answer: (OutgoingRequest) -> AttemptReport.Result = { request in
            urls.append(request.url)
            return .status(204)
        }
        var world = bench.world(answer)
        var isChanged = false
        world.renewal = {
            if isChanged { return nil }
            isChanged = true
            _ = try? bench.add(1)
            var changed = bench.configuration
            changed.defaultRoute.url = "http://two/{type}"
            return (changed, bench.world(answer))
        }
        let summary = try run(bench, RunOptions(stay: .during(.seconds(5))), world)
        #expect(urls == ["http://one/default", "http://two/default"])
        #expect(summary.delivered == 2 && summary.attempts == 2 && summary.end == .done)
    }

    @Test func `a run that stays reports the end of each pass, with the sequence lock free`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.ordering = .key
        try bench.add(1) { $0.key = "k" }
        var world = bench.world { _ in .status(400) }
        var told: [Int] = []
        var isFree: [Bool] = []
        world.reportsDue = {
            told.append($0.failed)
            let lock = try? bench.sequenceLock()
            isFree.append(lock != nil)
            lock?.release()
            return true
        }
        let summary = try run(bench, RunOptions(stay: .during(.seconds(5))), world)
        #expect(summary.failed == 1)
        #expect(told.first == 1 && (4...6).contains(told.count))
        #expect(!isFree.contains(false))
    }

    @Test func `a run reports a failure of a dead run once, however often it cannot write the report`() throws {
        let bench = try Bench()
        try bench.add(1)
        var world = bench.world { _ in .status(422) }
        world.reportsDue = { _ in false }
        #expect(try run(bench, RunOptions(), world).failed == 1)
        let claimed = bench.directory.appending(path: "claimed").path
        #expect(try FileManager.default.contentsOfDirectory(atPath: claimed).count == 1)
        var writes = 0
        world.reportsDue = { _ in
            writes += 1
            return writes > 4
        }
        var found = 0
        let summary = try Run(
            spool: bench.spool, configuration: bench.configuration, options: RunOptions(stay: .during(.seconds(20))),
            world: world
        ) { if case .foundEnded = $0 { found += 1 } }()
        #expect(found == 1 && summary.failed == 1 && writes > 4)
        #expect(try FileManager.default.contentsOfDirectory(atPath: claimed).isEmpty)
    }

    @Test(arguments: [false, true])
    func `a run until the queue is empty is not done while a pause keeps operations in it`(isWholeQueue: Bool) throws {
        let bench = try Bench()
        func outcomes(_ stay: RunOptions.Stay) throws -> Set<RunOutcome> {
            try run(bench, RunOptions(stay: stay), bench.world { _ in .status(204) }).outcomes
        }
        func pause() throws {
            guard !isWholeQueue else { return _ = try bench.spool.setPaused(true) }
            try DestinationsFile(spool: bench.spool).record(
                [("http://one", .paused)], settings: { _ in DestinationSettings() }, at: bench.now, durable: false)
        }
        try bench.add(1)
        try pause()
        #expect(try outcomes(.untilEmpty) == [.deferred])
        #expect(try outcomes(.no) == [])
        #expect(try bench.names(.new).count == 1)
        try FileManager.default.removeItem(
            at: bench.directory.appending(path: Entry(state: .new, name: bench.names(.new)[0]).path))
        #expect(try outcomes(.untilEmpty) == [])
    }

    @Test func `a run that gets no slot lists again in a second, not at once`() throws {
        let bench = try Bench()
        bench.configuration.destinations["http://one"] = DestinationSettings(concurrency: 1)
        try bench.add(1)
        let other = SlotLocks(of: Digest(of: "http://one"), size: 1, in: bench.spool)
        #expect(try other.acquire())
        let summary = try run(
            bench, RunOptions(stay: .during(.seconds(60))), bench.world { _ in .status(204) })
        #expect(summary.attempts == 0)
        // It asks for a slot each 50 ms, and rests for a second after ten.
        #expect((1000...1300).contains(bench.slept.count))
    }

    @Test func `passes that follow each other at once are reported once a second`() throws {
        let bench = try Bench()
        try bench.add(30)
        var told = 0
        var world = bench.world { _ in
            bench.pass(.milliseconds(200))
            return .status(204)
        }
        world.reportsDue = { _ in
            told += 1
            return true
        }
        let summary = try run(bench, RunOptions(limit: 1, concurrency: 1, stay: .untilEmpty), world)
        #expect(summary.delivered == 30 && (4...7).contains(told))
    }

    @Test func `a wait for the names lock does not put the next listing off`() throws {
        var pass: (Duration) -> Void = { _ in }
        var system = SystemCalls.real
        system.sleep = { pass($0) }
        let bench = try Bench(system: system)
        bench.configuration.defaultRoute.ordering = .key
        let lock = open("\(bench.directory.path)/state/names.lock", O_RDWR)
        defer { close(lock) }
        #expect(flock(lock, LOCK_EX) == 0)
        var waited = Duration.zero
        pass = { time in
            bench.pass(time)
            waited += time
            if waited > .milliseconds(4_500) { flock(lock, LOCK_UN) }
        }
        _ = try run(bench, RunOptions(stay: .during(.seconds(300))), bench.world { _ in .status(204) })
        #expect(waited > .seconds(4) && bench.slept.allSatisfy { $0 < .seconds(80) })
    }

    @Test func `until-empty that ends before the queue is empty reports operations left`() throws {
        let bench = try Bench()
        try bench.add(2)
        let options = RunOptions(maxTime: .seconds(2), stay: .untilEmpty)
        #expect(try bench.run(options).outcomes == [])
        try bench.add(1)
        #expect(try bench.run { _ in .status(503) }.outcomes == [.deferred])
        let late = try bench.run(options)
        #expect(late.attempts == 0 && late.end == .timeUp && late.outcomes == [.deferred])
        // A run that need not empty the queue leaves what is not due yet.
        #expect(try bench.run(RunOptions(maxTime: .seconds(2), stay: .during(.seconds(9)))).outcomes == [])
    }

    @Test func `a run that stays does not count as deferred at its end what an operator has dropped meanwhile`() throws
    {
        let bench = try Bench()
        try bench.add(1)
        var world = bench.world { _ in .status(503) }
        var deferred: [Int] = []
        world.reportsDue = {
            deferred.append($0.deferred)
            for name in (try? bench.names(.deferred)) ?? [] {
                _ = try? bench.spool.drop(Entry(state: .deferred, name: name))
            }
            return true
        }
        let summary = try run(bench, RunOptions(stay: .during(.seconds(5))), world)
        #expect(deferred.first == 1 && summary.attempts == 1)
        #expect(summary.deferred == 0 && summary.outcomes == [])
    }

    @Test func `a run that stays does not count a deferred value that a newer one has superseded meanwhile`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.coalesce = true
        try bench.add(1) { $0.key = "k" }
        var world = bench.world { $0.body == Array("0".utf8) ? .status(503) : .status(204) }
        world.reportsDue = {
            if $0.deferred == 1 { _ = try? bench.add(1) { $0.key = "k" } }
            return true
        }
        let summary = try run(bench, RunOptions(stay: .during(.seconds(5))), world)
        #expect(summary.superseded == 1 && summary.delivered == 1)
        #expect(summary.deferred == 0 && summary.outcomes == [])
    }

    @Test func `a run that stays removes an older value before it sends a newer one that has become due`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.coalesce = true
        try bench.add(1) { $0.key = "k" }
        #expect(try bench.run { _ in .status(503) }.deferred == 1)
        try bench.add(1) { ($0.key, $0.notBefore) = ("k", bench.now + .milliseconds(2_500)) }
        var bodies: [[UInt8]] = []
        let world = bench.world { request in
            if let body = request.body { bodies.append(body) }
            return .status(400)
        }
        let summary = try run(bench, RunOptions(stay: .during(.seconds(100))), world)
        #expect(bodies == [Array("1".utf8)])
        #expect(summary.superseded == 1 && summary.failed == 1)
    }

    @Test func `a refused value goes for a newer one that has become due while the run waited`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.coalesce = true
        let due = bench.now + .milliseconds(2_500)
        try bench.add(1) { ($0.key, $0.notBefore) = ("k", due) }
        let world = bench.world { request in
            if request.body != Array("0".utf8) { return .status(204) }
            _ = try? bench.add(1) { ($0.key, $0.notBefore) = ("k", due) }
            return .status(400)
        }
        let summary = try run(bench, RunOptions(stay: .during(.seconds(5))), world)
        #expect(summary.failed == 0 && summary.superseded == 1 && summary.delivered == 1)
    }

    @Test func `a run that stays does not count as ambiguous at its end what an operator has queued again`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.keyTTL = .seconds(10)
        try bench.add(1)
        var requests = 0
        var world = bench.world { _ in
            requests += 1
            return requests == 1 ? .failure(.timeout, detail: "") : .status(204)
        }
        var ambiguous = 0
        world.reportsDue = {
            ambiguous = max(ambiguous, $0.ambiguous)
            for name in (try? bench.names(.deferred)) ?? [] where name.isHeld {
                _ = try? bench.spool.retry(Entry(state: .deferred, name: name), now: bench.now)
            }
            return true
        }
        let summary = try run(bench, RunOptions(stay: .during(.seconds(200))), world)
        #expect(ambiguous == 1 && summary.delivered == 1)
        #expect(summary.ambiguous == 0 && summary.outcomes == [])
    }

    @Test func `a run says that another process has the order`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.ordering = .key
        try bench.add(1) { $0.key = "k" }
        let lock = try #require(try bench.sequenceLock())
        #expect(try bench.run().isLeftToOthers)
        let late = try bench.run(RunOptions(maxTime: .seconds(2), stay: .untilEmpty))
        #expect(late.isLeftToOthers && late.outcomes == [.deferred])
        lock.release()
        #expect(try !bench.run().isLeftToOthers)
    }

    @Test func `until-empty waits while another run has the sequence lock`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.ordering = .key
        try bench.add(1) { $0.key = "k" }
        let lock = try #require(try bench.sequenceLock())
        var world = bench.world { _ in .status(204) }
        var passes = 0
        world.reportsDue = { _ in
            passes += 1
            if passes == 3 { lock.release() }
            return true
        }
        let summary = try run(bench, RunOptions(stay: .untilEmpty), world)
        #expect(summary.delivered == 1 && passes == 3)
    }

    @Test func `until-empty sends an operation claimed by a run that died meanwhile`() throws {
        let bench = try Bench()
        try bench.add(2)
        let other = try SpoolDirectory(opening: bench.directory.path)
        var dying: SpoolRun? = try other.beginRun(now: bench.now)
        let name = try #require(try bench.names(.new).first)
        _ = try dying?.claim(Entry(state: .new, name: name))
        let world = bench.world { _ in
            // The lock of a run ends with its process.
            dying = nil
            return .status(204)
        }
        let summary = try run(bench, RunOptions(stay: .untilEmpty), world)
        #expect(summary.delivered == 2 && summary.recovered == 1)
    }

    @Test(arguments: [RunOptions.Stay.no, .untilEmpty])
    func `a run that a signal ends before the admission of a file reports operations left`(stay: RunOptions.Stay) throws
    {
        let bench = try Bench()
        try Data(#"{"drainq":1,"payload":1}"#.utf8).write(to: bench.directory.appending(path: "new/dropped"))
        bench.signals = [15]
        let summary = try bench.run(RunOptions(stay: stay))
        #expect(summary.outcomes == [.deferred] && summary.attempts == 0)
        bench.signals = []
        #expect(try bench.run().delivered == 1)
    }

    /// The real calls; opening a path with this text fails while `fails`.
    private func calls(failing text: String, with code: Int32, while fails: @escaping () -> Bool) -> SystemCalls {
        var system = SystemCalls.real
        system.open = { (directory, path, flags, mode) throws(Errno) in
            if String(cString: path).contains(text), fails() { throw Errno(code) }
            return try SystemCalls.real.open(directory, path, flags, mode)
        }
        return system
    }

    @Test func `an operation that one pass could not read goes back, and the next pass sends it`() throws {
        var looks = 0
        let system = calls(failing: "default-0", with: EIO) {
            looks += 1
            return looks == 1
        }
        let bench = try Bench(system: system)
        try bench.add(1)
        looks = 0
        let summary = try bench.run(RunOptions(stay: .during(.seconds(5))))
        #expect(summary.delivered == 1 && summary.inputOutputErrors == 1)
    }

    @Test func `room to keep values is proven again after a second, and its lack does not outlive the pass`() throws {
        var isFull = true
        let bench = try Bench(system: calls(failing: "keys/.room", with: ENOSPC) { isFull })
        bench.configuration.defaultRoute.keep = ["n": .pointer(JSONPointer("/id")!)]
        try bench.add(1) { $0.key = "a" }
        try bench.add(1) { ($0.key, $0.notBefore) = ("b", bench.now + .seconds(5)) }
        var world = bench.world { _ in .answer(AttemptReport.Answer(status: 200, body: Array(#"{"id":7}"#.utf8))) }
        var delivered: [Int] = []
        world.reportsDue = {
            delivered.append($0.delivered)
            isFull = delivered.count > 3
            return true
        }
        let summary = try run(bench, RunOptions(stay: .during(.seconds(10))), world)
        #expect(delivered.prefix(2) == [0, 1] && summary.delivered == 1)
        #expect(try bench.names(.new).count == 1)
    }

    @Test func `a pass prunes copies in delivered`() throws {
        let bench = try Bench()
        bench.now = Timestamp(microseconds: Int64(Date().timeIntervalSince1970 * 1e6))
        bench.configuration.retention.delivered = .seconds(3)
        try bench.add(1)
        var world = bench.world { _ in .status(204) }
        var copies: [Int] = []
        world.reportsDue = { _ in
            copies.append((try? bench.names(.delivered).count) ?? -1)
            return true
        }
        _ = try run(bench, RunOptions(stay: .during(.seconds(10))), world)
        #expect(copies.first == 1 && copies.last == 0)
    }

    @Test(arguments: [RunOptions.Stay.no, .during(.seconds(100))])
    func `dead letters go by the retention of the configuration at the end of a pass`(stay: RunOptions.Stay) throws {
        let bench = try Bench()
        bench.now = Timestamp(microseconds: Int64(Date().timeIntervalSince1970 * 1e6))
        bench.configuration.retention.failed = .seconds(3)
        try bench.add(1)
        #expect(try bench.run { _ in .status(400) }.failed == 1)
        try bench.add(1)
        var isEdited = false
        var hasRenewed = false
        let answer: (OutgoingRequest) -> AttemptReport.Result = { _ in
            bench.pass(.seconds(60))
            isEdited = true
            return .status(204)
        }
        var world = bench.world(answer)
        world.renewal = {
            if !isEdited || hasRenewed { return nil }
            hasRenewed = true
            var edited = bench.configuration
            edited.retention.failed = .seconds(30 * 86_400)
            return (edited, bench.world(answer))
        }
        let summary = try run(bench, RunOptions(stay: stay), world)
        #expect(summary.delivered == 1 && hasRenewed)
        #expect(try bench.names(.failed).count == 1)
    }
}
