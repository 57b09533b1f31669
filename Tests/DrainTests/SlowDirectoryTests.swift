import CSystem
import Spool
import Synchronization
import Testing

@testable import Drain
@testable import Policy

/// A directory whose calls take long: how many go on at once, and what stays claimed.
struct SlowDirectoryTests {
    /// Renames and removals that take three milliseconds each.
    private final class SlowCalls: Sendable {
        private let state = Mutex((now: 0, most: 0))
        private let refused = Mutex("")
        private let together = Mutex(0)

        /// Files of that name cannot be opened any more.
        func refuse(_ name: String) { refused.withLock { $0 = name } }

        /// The most calls that have gone on at once.
        var most: Int { state.withLock(\.most) }

        /// The most files that were worked on together, whether or not the machine had a moment for all of them.
        var mostTogether: Int { together.withLock { $0 } }

        private func wait() {
            state.withLock {
                $0.now += 1
                $0.most = max($0.most, $0.now)
            }
            usleep(3000)
            state.withLock { $0.now -= 1 }
        }

        var calls: SystemCalls {
            let real = SystemCalls.real
            var calls = real
            calls.rename = { (directory, from, target, to) throws(Errno) in
                self.wait()
                try real.rename(directory, from, target, to)
            }
            calls.open = { (directory, path, flags, mode) throws(Errno) in
                let refused = self.refused.withLock { $0 }
                if !refused.isEmpty, String(cString: path).hasSuffix(refused) { throw Errno(EIO) }
                return try real.open(directory, path, flags, mode)
            }
            calls.overlap = { count, width, work in
                self.together.withLock { $0 = max($0, count) }
                real.overlap(count, width, work)
            }
            calls.unlink = { (directory, path) throws(Errno) in
                self.wait()
                try real.unlink(directory, path)
            }
            return calls
        }
    }

    @Test func `claims and removals overlap, each operation is sent once, and in its order`() throws {
        let slow = SlowCalls()
        let bench = try Bench(system: slow.calls)
        let ids = try bench.add(40)
        var sent: [String] = []
        let parts = try Parts(bench) { request in
            sent.append(String(decoding: request.body ?? [], as: UTF8.self))
            return .status(204)
        }
        // The first ones show that the directory is slow.
        for pass in 1...2 {
            #expect(try parts.send(Array(parts.candidates().prefix(20))) == 20, "pass \(pass)")
        }
        #expect(sent == (0..<ids.count).map(String.init))
        #expect(slow.most > 1)
        #expect(parts.tally.summary.delivered == 40)
        #expect(try bench.names(.claimed).isEmpty && bench.names(.new).isEmpty)
    }

    @Test func `no more is claimed than may be in flight`() throws {
        let bench = try Bench(system: SlowCalls().calls)
        #expect(try bench.mostClaimed(20) == 5)
    }

    @Test func `a rate claims one at a time`() throws {
        let bench = try Bench(system: SlowCalls().calls)
        bench.configuration.destinations = ["http://one": DestinationSettings(rate: Rate(count: 1, per: .seconds(1)))]
        #expect(try bench.mostClaimed(8) == 1)
    }

    /// Parts whose directory is known to be slow, and what was added.
    private func slowParts(
        _ bench: Bench, answer: @escaping (OutgoingRequest) -> AttemptReport.Result = { _ in .status(204) }
    ) throws -> Parts {
        let parts = try Parts(bench, answer: answer)
        try bench.add(20)
        try parts.send()
        #expect(parts.spoolRun.isSlowToTake && parts.spoolRun.isSlowToSettle)
        return parts
    }

    @Test func `what was claimed with others goes back when the run has to stop`() throws {
        let bench = try Bench(system: SlowCalls().calls)
        let parts = try slowParts(bench)
        let ids = try bench.add(20)
        let before = try bench.names(.new)
        bench.gzip = { _ throws(RequestError) in
            bench.signals = [15]
            return [0]
        }
        bench.configuration.defaultRoute.compress = .gzip
        // The parts have the configuration of their beginning: the second ones stop while the first of five is made.
        let stopped = try Parts(bench)
        for _ in 0..<8 { _ = stopped.spoolRun.take([]) }
        #expect(ids.count == 20 && parts.tally.summary.delivered == 20)
        try stopped.send()
        #expect(try bench.names(.claimed).isEmpty)
        #expect(try bench.names(.new).count == before.count - stopped.tally.summary.delivered)
    }

    @Test func `a file that cannot be read is told, and the others are sent`() throws {
        let slow = SlowCalls()
        let bench = try Bench(system: slow.calls)
        let parts = try slowParts(bench)
        try bench.add(5)
        let unreadable = try bench.names(.new)[3]
        slow.refuse(unreadable.description)
        #expect(try parts.send() == 5)
        #expect(parts.tally.summary.delivered == 24 && parts.settling.operations.setAside == [unreadable.id])
    }

    @Test func `one that a rival takes in between costs nothing but itself`() throws {
        let bench = try Bench(system: SlowCalls().calls)
        let parts = try slowParts(bench)
        try bench.add(5)
        let candidates = try parts.candidates()
        let rival = try bench.spool.beginRun(now: bench.now)
        _ = try #require(try rival.claim(candidates[1].entry))
        #expect(try parts.send(candidates) == 5)
        #expect(parts.tally.summary.delivered == 24 && parts.dispatch.queue.lostClaimCount == 1)
    }

    @Test func `a slot is taken before what it is for is claimed`() throws {
        let bench = try Bench(system: SlowCalls().calls)
        bench.configuration.destinations = ["http://one": DestinationSettings(concurrency: 2)]
        var claimed: [Int] = []
        let parts = try slowParts(bench) { _ in
            claimed.append((try? bench.names(.claimed).count) ?? 0)
            return .status(204)
        }
        #expect(claimed.max() == 2 && parts.tally.summary.delivered == 20)
    }

    @Test func `a delivery among failures of one moment ends their storm`() throws {
        let bench = try Bench(system: SlowCalls().calls)
        let parts = try slowParts(bench)
        try bench.add(5)
        let attempts = try parts.attempts()
        parts.settling.beginCollecting()
        for attempt in attempts.dropLast() { parts.take(404, of: attempt) }
        parts.take(204, of: attempts.last!)
        parts.settling.endCollecting()
        #expect(attempts[0].destination.state.storm == nil)
        #expect(parts.tally.summary.delivered == 21 && parts.tally.summary.failed == 4)
    }

    @Test func `what an answer means for its operation is told before what it means for its destination`() throws {
        let bench = try Bench(system: SlowCalls().calls)
        let parts = try slowParts(bench)
        try bench.add(5)
        let attempts = try parts.attempts()
        bench.pass(.seconds(2))
        bench.events = []
        parts.settling.beginCollecting()
        for attempt in attempts { parts.take(503, of: attempt) }
        parts.settling.endCollecting()
        let told = bench.events.compactMap { event -> String? in
            switch event {
            case .attempted: "operation"
            case .destinationChanged: "destination"
            default: nil
            }
        }
        #expect(told == ["operation", "operation", "operation", "operation", "operation", "destination"])
    }

    @Test func `bodies that do not fit a batch are not claimed for it by the hundred`() throws {
        let bench = try Bench(system: SlowCalls().calls)
        bench.configuration.defaultRoute.batch = Batch(max: 100, maxBytes: 6)
        var claimed: [Int] = []
        let parts = try slowParts(bench) { _ in
            claimed.append((try? bench.names(.claimed).count) ?? 0)
            return .status(204)
        }
        #expect(claimed.max()! <= 30 && parts.tally.summary.delivered == 20)
        #expect(try bench.names(.claimed).isEmpty)
    }

    @Test func `a destination that is blocked in between gets none of what was claimed for it`() throws {
        let bench = try Bench(system: SlowCalls().calls)
        try bench.add(40)
        let parts = try Parts(bench) { _ in .status(503) }
        try parts.send()
        let charged = try bench.names(.deferred).filter { $0.attempts > 0 }.count
        #expect(bench.sink?.requests.count == charged)
        #expect(try bench.names(.claimed).isEmpty)
        #expect(try bench.names(.new).count + bench.names(.deferred).count == 40)
    }

    @Test func `a batch claims its operations together`() throws {
        let slow = SlowCalls()
        let bench = try Bench(system: slow.calls)
        bench.configuration.defaultRoute.batch = Batch(max: 10)
        try bench.add(25)
        var sizes: [Int] = []
        let parts = try Parts(bench) { request in
            sizes.append(request.body?.split(separator: UInt8(ascii: ",")).count ?? 0)
            return .status(204)
        }
        #expect(try parts.send() == 25)
        #expect(sizes == [10, 10, 5])
        #expect(slow.mostTogether > 5)
    }
}
