import CSystem
import Spool
import Synchronization
import Testing

@testable import Drain
@testable import Policy

/// A directory whose calls take long: the overlap of calls, and the claims left behind.
struct SlowDirectoryTests {
    /// Calls with renames and removals of three milliseconds each.
    private final class SlowCalls: Sendable {
        private let state = Mutex((now: 0, most: 0))
        private let refused = Mutex("")
        private let together = Mutex(0)

        /// Makes files with this name impossible to open.
        func refuse(_ name: String) { refused.withLock { $0 = name } }

        /// The highest number of calls at once.
        var most: Int { state.withLock(\.most) }

        /// The highest number of files passed to a single `overlap`, whatever the machine had time for.
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

    @Test func `claims and removals overlap, and each operation is sent once, in order`() throws {
        let slow = SlowCalls()
        let bench = try Bench(system: slow.calls)
        let ids = try bench.add(40)
        var sent: [String] = []
        let parts = try Parts(bench) { request in
            sent.append(String(decoding: request.body ?? [], as: UTF8.self))
            return .status(204)
        }
        // The first calls show that the directory is slow.
        for pass in 1...2 {
            #expect(try parts.send(Array(parts.candidates().prefix(20))) == 20, "pass \(pass)")
        }
        #expect(sent == (0..<ids.count).map(String.init))
        #expect(slow.most > 1)
        #expect(parts.tally.summary.delivered == 40)
        #expect(try bench.names(.claimed).isEmpty && bench.names(.new).isEmpty)
    }

    @Test func `a run claims no more operations than may be in flight`() throws {
        let bench = try Bench(system: SlowCalls().calls)
        #expect(try bench.mostClaimed(20) == 5)
    }

    @Test func `with a rate a run claims one operation at a time`() throws {
        let bench = try Bench(system: SlowCalls().calls)
        bench.configuration.destinations = ["http://one": DestinationSettings(rate: Rate(count: 1, per: .seconds(1)))]
        #expect(try bench.mostClaimed(8) == 1)
    }

    /// Returns parts with a directory known to be slow, after the delivery of 20 operations.
    private func slowParts(
        _ bench: Bench, answer: @escaping (OutgoingRequest) -> AttemptReport.Result = { _ in .status(204) }
    ) throws -> Parts {
        let parts = try Parts(bench, answer: answer)
        try bench.add(20)
        try parts.send()
        #expect(parts.spoolRun.isSlowToTake && parts.spoolRun.isSlowToSettle)
        return parts
    }

    @Test func `operations claimed together go back when the run has to stop`() throws {
        let bench = try Bench(system: SlowCalls().calls)
        let parts = try slowParts(bench)
        let ids = try bench.add(20)
        let before = try bench.names(.new)
        bench.gzip = { _ throws(RequestError) in
            bench.signals = [15]
            return [0]
        }
        bench.configuration.defaultRoute.compress = .gzip
        // Parts keep their first configuration: the second parts stop during the first of five requests.
        let stopped = try Parts(bench)
        for _ in 0..<8 { _ = stopped.spoolRun.take([]) }
        #expect(ids.count == 20 && parts.tally.summary.delivered == 20)
        try stopped.send()
        #expect(try bench.names(.claimed).isEmpty)
        #expect(try bench.names(.new).count == before.count - stopped.tally.summary.delivered)
    }

    @Test func `an unreadable file is set aside, and all other operations are sent`() throws {
        let slow = SlowCalls()
        let bench = try Bench(system: slow.calls)
        let parts = try slowParts(bench)
        try bench.add(5)
        let unreadable = try bench.names(.new)[3]
        slow.refuse(unreadable.description)
        #expect(try parts.send() == 5)
        #expect(parts.tally.summary.delivered == 24 && parts.dispatch.settling.operations.setAside == [unreadable.id])
    }

    @Test func `an operation that a rival takes in between costs no other claim`() throws {
        let bench = try Bench(system: SlowCalls().calls)
        let parts = try slowParts(bench)
        try bench.add(5)
        let candidates = try parts.candidates()
        let rival = try bench.spool.beginRun(now: bench.now)
        _ = try #require(try rival.claim(candidates[1].entry))
        #expect(try parts.send(candidates) == 5)
        #expect(parts.tally.summary.delivered == 24 && parts.dispatch.queue.lostClaimCount == 1)
    }

    @Test func `two names of an operation are not claimed together`() throws {
        let bench = try Bench(system: SlowCalls().calls)
        let parts = try slowParts(bench)
        try bench.add(1)
        let first = try parts.candidates()[0]
        var name = first.entry.name
        name.attempts = 1
        let second = Entry(state: .deferred, name: name)
        link("\(bench.directory.path)/\(first.entry.path)", "\(bench.directory.path)/\(second.path)")
        try parts.send([
            first, Candidate(entry: second, destination: first.destination, sequence: nil, isHead: true),
        ])
        #expect(parts.tally.summary.delivered == 21 && parts.tally.summary.inputOutputErrors == 0)
        for state in [QueueState.new, .deferred, .claimed] { #expect(try bench.names(state).isEmpty) }
    }

    @Test func `a slot is taken before the operation is claimed`() throws {
        let bench = try Bench(system: SlowCalls().calls)
        bench.configuration.destinations = ["http://one": DestinationSettings(concurrency: 2)]
        var claimed: [Int] = []
        let parts = try slowParts(bench) { _ in
            claimed.append((try? bench.names(.claimed).count) ?? 0)
            return .status(204)
        }
        #expect(claimed.max() == 2 && parts.tally.summary.delivered == 20)
    }

    @Test func `a delivery among simultaneous failures ends their storm`() throws {
        let bench = try Bench(system: SlowCalls().calls)
        let parts = try slowParts(bench)
        try bench.add(5)
        let attempts = try parts.attempts()
        parts.dispatch.settling.beginCollecting()
        for attempt in attempts.dropLast() { parts.take(404, of: attempt) }
        parts.take(204, of: attempts.last!)
        parts.dispatch.settling.endCollecting()
        #expect(attempts[0].destination.state.storm == nil)
        #expect(parts.tally.summary.delivered == 21 && parts.tally.summary.failed == 4)
    }

    @Test func `the event of an operation comes before the event of its destination`() throws {
        let bench = try Bench(system: SlowCalls().calls)
        let parts = try slowParts(bench)
        try bench.add(5)
        let attempts = try parts.attempts()
        bench.pass(.seconds(2))
        bench.events = []
        parts.dispatch.settling.beginCollecting()
        for attempt in attempts { parts.take(503, of: attempt) }
        parts.dispatch.settling.endCollecting()
        let told = bench.events.compactMap { event -> String? in
            switch event {
            case .attempted: "operation"
            case .changed: "destination"
            default: nil
            }
        }
        #expect(told == ["operation", "operation", "operation", "operation", "operation", "destination"])
    }

    @Test func `a batch limited by its bytes does not claim operations by the hundred`() throws {
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

    @Test func `a destination blocked in between gets no request for the remaining claims`() throws {
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
