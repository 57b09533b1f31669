import CSystem
import Testing

@testable import Policy
@testable import Spool

/// Processes that add to the same queue, and keep their knowledge of the queue between batches.
struct SeveralAddersTests {
    private static let now = TemporaryQueue.now
    private let queue: TemporaryQueue

    init() throws {
        queue = try TemporaryQueue()
    }

    /// An adding process, with the number of its listings.
    private final class Process {
        let calls = InterceptedCalls()
        let spool: SpoolDirectory
        var control: AdmissionControl

        init(_ queue: TemporaryQueue, _ configuration: Configuration) throws {
            var system = calls.calls
            system.sleep = { _ in }
            spool = try queue.open(system)
            control = AdmissionControl(configuration)
        }

        /// Adds an operation created at this time. Returns the result, and the ids of the evicted operations.
        @discardableResult
        func add(
            _ id: String, at time: Timestamp = SeveralAddersTests.now, key: String? = nil, isDated: Bool = false
        ) throws -> (result: Acceptance, evicted: [String]) {
            let header = OperationHeader(
                id: OperationID(id)!, createdAt: time, contentType: "application/json", key: key)
            let submission = Submission(
                Operation(header: header, body: Array("1".utf8)), hasOwnID: false,
                at: isDated ? SeveralAddersTests.now + .seconds(1) : time,
                isDated: isDated)
            let accepted = try spool.accept([submission], within: &control, durable: false)
            return (accepted.results[0], accepted.evicted.map { "\($0.name.id)" })
        }

        func isAccepted(_ id: String, at time: Timestamp) throws -> Bool {
            if case .accepted = try add(id, at: time).result { true } else { false }
        }

        func listings(_ body: () throws -> Void) rethrows -> Int {
            let before = calls.log.count { $0 == "list" }
            try body()
            return calls.log.count { $0 == "list" } - before
        }
    }

    private func process(_ change: (inout Configuration) -> Void) throws -> Process {
        var configuration = Configuration(defaultRoute: Route(url: "http://one/"))
        change(&configuration)
        return try Process(queue, configuration)
    }

    private func time(_ number: Int) -> Timestamp { Self.now + .microseconds(number) }

    // MARK: - Limits

    @Test func `limits hold for all adding processes together, although each process counts once`() throws {
        let processes = try (0..<5).map { _ in try process { $0.limits.operations = 10 } }
        var accepted = 0
        for number in 0..<40 {
            if try processes[number % 5].isAccepted("a-\(number)", at: time(number)) { accepted += 1 }
        }
        #expect(accepted == 10 && queue.names("new").count == 10)
    }

    @Test func `an operation put back during the count is counted once`() throws {
        let spool = try queue.open()
        try queue.add(["a"])
        let run = try spool.beginRun(now: Self.now)
        var claim = try run.claim(try queue.entries()[0])
        for hasRoom in [false, true] {
            let calls = InterceptedCalls()
            var system = calls.calls
            system.list = { (directory, path, body) throws(Errno) in
                try SystemCalls.real.list(directory, path, body)
                guard String(cString: path) == "deferred" else { return }
                // try?: a failure leaves the claim, and the expectation below fails.
                if let claimed = claim { claim = (try? run.putBack(claimed)) == nil ? claimed : nil }
            }
            var configuration = Configuration(defaultRoute: Route(url: "http://one/"))
            configuration.limits.operations = hasRoom ? 2 : 1
            var control = AdmissionControl(configuration)
            let header = OperationHeader(id: OperationID("b")!, createdAt: Self.now, contentType: "application/json")
            let submission = Submission(
                Operation(header: header, body: Array("1".utf8)), hasOwnID: false, at: Self.now, isDated: false)
            let result = try queue.open(system).accept([submission], within: &control, durable: false).results[0]
            if case .accepted = result { #expect(hasRoom) } else { #expect(!hasRoom) }
            #expect(claim == nil)
            claim = try run.claim(try #require(try queue.entries().first { "\($0.name.id)" == "a" }))
        }
        try run.end()
    }

    /// A run tells of its removals with its next sync.
    @Test func `what a run has just delivered makes room, before the run says so`() throws {
        let adder = try process { ($0.limits.operations, $0.limits.whenFull) = (3, .dropOldest) }
        for number in 0..<3 { try adder.add("a-\(number)", at: time(number)) }
        let run = try queue.open().beginRun(now: Self.now)
        for entry in try queue.entries().sorted(by: { $0.name.createdAt < $1.name.createdAt }).prefix(2) {
            let claim = try #require(try run.claim(entry))
            let receipt = try run.receipt(for: [claim])
            _ = try run.settle(claim, .delivered(keep: false), record: nil, receipt: receipt, now: Self.now)
        }
        for number in 3..<5 { try adder.add("a-\(number)", at: time(number)) }
        #expect(queue.names("new").count == 3)
        #expect(try queue.entries().contains { "\($0.name.id)" == "a-2" })
        try run.end()
    }

    @Test func `a limit that was lowered takes nothing away, and lets in what makes room for itself`() throws {
        let before = try process { $0.limits.operations = 100 }
        for number in 0..<50 { try before.add("a-\(number)", at: time(number)) }
        let rejecting = try process { $0.limits.operations = 10 }
        #expect(try rejecting.isAccepted("b", at: time(60)) == false)
        for limits in [
            Limits(operations: 10, whenFull: .dropOldest),
            Limits(bytes: 1_000, whenFull: .dropOldest),
        ] {
            let adding = try process { $0.limits = limits }
            let names = queue.names("new").count
            let added = try adding.add("c-\(names)-\(limits.operations ?? 0)", at: time(100 + names))
            #expect((1...2).contains(added.evicted.count) && queue.names("new").count >= 49, "\(added.evicted)")
        }
    }

    @Test(arguments: [Limits.WhenFull.reject, .dropOldest])
    func `an adder that died between its record and its files leaves no operation in the count`(
        whenFull: Limits.WhenFull
    ) throws {
        let living = try process { $0.limits = Limits(operations: 5, whenFull: whenFull) }
        try living.add("a", at: time(0))
        let dying = try process { $0.limits = Limits(operations: 5, whenFull: whenFull) }
        let batch = (0..<4).map { number in
            Submission(
                queue.operation("b-\(number)", number + 1), hasOwnID: false, at: time(number + 1), isDated: false)
        }
        try dying.control.beginBatch(dying.spool, batch, allOrNone: false)
        for var submission in batch {
            _ = try dying.control.admit(&submission, isCandidate: true, dying.spool)
        }
        try dying.control.recordBatch(in: dying.spool)
        dying.spool.unlockNames()
        let added = try living.add("c", at: time(10))
        #expect(added.evicted.isEmpty && queue.names("new").count == 2, "\(added)")
    }

    @Test func `limits of bytes hold for all adding processes together`() throws {
        let first = try process { $0.limits.bytes = 1_000 }
        let second = try process { $0.limits.bytes = 1_000 }
        for number in 0..<20 {
            try first.add("a-\(number)", at: time(2 * number))
            try second.add("b-\(number)", at: time(2 * number + 1))
        }
        let bytes = queue.names("new").reduce(0) { $0 + (queue.bytes("new/\($1)")?.count ?? 0) }
        #expect(bytes <= 1_000 && bytes > 800)
    }

    @Test func `operations removed by a run or an operator make room`() throws {
        let adding = try process { $0.limits.operations = 2 }
        try adding.add("a", at: time(0))
        try adding.add("b", at: time(1))
        #expect(try adding.isAccepted("c", at: time(2)) == false, "it is full")
        let others = try queue.open()
        let entries = try queue.entries()
        #expect(try others.drop(entries[0]))
        #expect(try adding.isAccepted("d", at: time(3)) == true, "there is room")
        let run = try others.beginRun(now: Self.now)
        let claim = try #require(try run.claim(entries[1]))
        _ = try run.settle(claim, as: .delivered(keep: false))
        try run.end()
        #expect(try adding.isAccepted("e", at: time(4)) == true, "there is room")
        #expect(try adding.isAccepted("f", at: time(5)) == false, "it is full")
    }

    @Test func `a full queue with dropOldest is not listed for each operation`() throws {
        let adding = try process {
            $0.limits.operations = 50
            $0.limits.whenFull = .dropOldest
        }
        for number in 0..<51 { try adding.add("a-\(number)", at: time(number)) }
        var evicted: [String] = []
        let listings = try adding.listings {
            for number in 51..<91 { evicted += try adding.add("a-\(number)", at: time(number)).evicted }
        }
        #expect(evicted == (1...40).map { "a-\($0)" })
        let one = try adding.listings { try adding.add("b", at: time(91)) }
        #expect(listings <= 40 * one && queue.names("new").count == 50)
        // A process with another limit has added an older operation meanwhile.
        try process { $0.limits.operations = 60 }.add("old", at: Self.now - .seconds(5), isDated: true)
        #expect(try adding.add("c", at: time(92)).evicted == ["old"])
    }

    @Test(arguments: [Limits.WhenFull.dropOldest, .reject])
    func `a full queue of coalescing values is not listed for each operation`(whenFull: Limits.WhenFull) throws {
        func adding() throws -> Process {
            try process {
                $0.limits.operations = 30
                $0.limits.whenFull = whenFull
                $0.defaultRoute.coalesce = true
            }
        }
        let one = try adding()
        let fresh = try SeveralAddersTests()
        var chance: UInt64 = 7
        var (all, most) = (0, 0)
        for number in 0..<300 {
            chance = chance &* 6_364_136_223_846_793_005 &+ 1
            let key = "k\((chance >> 33) % 40)"
            let listings = try one.listings { try one.add("a-\(number)", at: time(number), key: key) }
            if number > 100 { (all, most) = (all + listings, max(most, listings)) }
            // A process without knowledge of the earlier batches decides the same.
            try fresh.process {
                $0.limits.operations = 30
                $0.limits.whenFull = whenFull
                $0.defaultRoute.coalesce = true
            }.add("a-\(number)", at: time(number), key: key)
        }
        #expect(try ids(queue) == ids(fresh.queue))
        // A batch with a removal lists five small directories, and claimed/ for each look at the mark of removals. The
        // queue's own would be four more each time.
        #expect(all <= 199 * 9 && most <= 15)
    }

    @Test func `after a crash during an eviction the queue grows no further`() throws {
        for index in 1... {
            let fresh = try SeveralAddersTests()
            func adding() throws -> Process {
                try fresh.process {
                    $0.limits.operations = 3
                    $0.limits.whenFull = .dropOldest
                }
            }
            let other = try adding()
            try other.add("b-0", at: time(0))
            var isWhole = false
            do {
                let dying = try adding()
                for number in 1...2 { try dying.add("a-\(number)", at: time(number)) }
                dying.calls.reset(.crash(at: index))
                _ = try? dying.add("a-3", at: time(3))
                isWhole = dying.calls.count < index
            }
            let left = fresh.queue.names("new").count
            try other.add("b-1", at: time(4))
            #expect(fresh.queue.names("new").count <= max(3, left), "call \(index)")
            if isWhole { break }
        }
    }

    @Test(arguments: [false, true])
    func `an operation claimed meanwhile makes no room`(coalesces: Bool) throws {
        let adding = try process {
            $0.limits.operations = 3
            $0.limits.whenFull = coalesces ? .reject : .dropOldest
            $0.defaultRoute.coalesce = coalesces
        }
        for number in 0..<4 { try adding.add("a-\(number)", at: time(number), key: "k\(number % 3)") }
        let run = try queue.open().beginRun(now: Self.now)
        let entries = try queue.entries().sorted { $0.name.createdAt < $1.name.createdAt }
        // The newest value of the key, or the oldest operation.
        let victim = try #require(coalesces ? entries.last : entries.first)
        _ = try #require(try run.claim(victim))
        let next = try adding.add("b", at: time(9), key: coalesces ? "k3" : "k0")
        if coalesces {
            #expect(next.result == .rejected(.operations(3)))
        } else {
            #expect(next.evicted == ["\(entries[1].name.id)"])
        }
        #expect(try queue.entries().count == 3)
        try run.end()
    }

    private func ids(_ queue: TemporaryQueue) throws -> Set<String> {
        try Set(queue.entries().map { "\($0.name.id)" })
    }

    @Test func `an operation of another process is evicted before newer operations`() throws {
        func adding() throws -> Process {
            try process {
                $0.limits.operations = 3
                $0.limits.whenFull = .dropOldest
            }
        }
        let (first, second) = (try adding(), try adding())
        for number in 0..<3 { try first.add("a-\(number)", at: time(10 * number)) }
        #expect(try first.add("a-3", at: time(30)).evicted == ["a-0"])
        #expect(try second.add("b", at: time(15), isDated: true).evicted == ["a-1"])
        #expect(try first.add("a-4", at: time(40)).evicted == ["b"])
    }

    @Test func `an operation older than the whole queue finds no room, and evicts nothing`() throws {
        let adding = try process {
            $0.limits.operations = 2
            $0.limits.whenFull = .dropOldest
        }
        for number in 1...2 { try adding.add("a-\(number)", at: time(number)) }
        let late = try adding.add("b", at: time(0), isDated: true)
        #expect(late.result == .rejected(.operations(2)) && late.evicted.isEmpty)
        #expect(try adding.add("c", at: time(3)).evicted == ["a-1"])
    }

    // MARK: - Order

    @Test func `an ordered operation waits while a run admits foreign files, and comes after them`() throws {
        var configuration = Configuration(defaultRoute: Route(url: "http://one/"))
        configuration.defaultRoute.ordering = .key
        try queue.put(#"{"drainq":1,"key":"k","payload":1}"#, at: "new/dropped")
        let adding = try Process(queue, configuration)
        var system = SystemCalls.real
        let real = system
        var results: [Bool] = []
        system.renameNoReplace = { (directory, from, to) throws(Errno) in
            results.append((try? adding.isAccepted("a-\(results.count)", at: time(results.count))) ?? false)
            try real.renameNoReplace(directory, from, to)
        }
        let run = try queue.open(system).beginRun(now: Self.now)
        var control = AdmissionControl(configuration)
        #expect(try run.admitForeign(now: Self.now, within: &control).admitted.count == 1)
        #expect(!results.isEmpty && results.allSatisfy { !$0 })
        try run.end()
        #expect(try adding.isAccepted("a", at: time(1)))
        #expect(try queue.entries().sorted { $0.name.createdAt < $1.name.createdAt }.last?.name.id.description == "a")
    }

    @Test func `the admission record keeps the latest time while a foreign file has no name`() throws {
        let first = try process { $0.defaultRoute.ordering = .key }
        let second = try process { $0.defaultRoute.ordering = .key }
        try first.add("a", at: time(0), key: "k")
        // The record has a time that no name in the queue has.
        try first.add("b", at: time(1_000), key: "k")
        let late = try #require(try queue.entries().first { $0.name.id.description == "b" })
        let run = try queue.open().beginRun(now: Self.now)
        let claim = try #require(try run.claim(late))
        try queue.put("1", at: "new/foreign")
        _ = try run.settle(claim, as: .delivered(keep: false))
        try second.add("c", at: time(1), key: "other")
        let record = try #require(try AdmissionRecord.read(in: queue.open()))
        #expect(record.latest == time(1_000))
        try run.end()
    }

    @Test func `a stream of operations into an ordered route lists the queue once`() throws {
        let adding = try process { $0.defaultRoute.ordering = .key }
        let first = try adding.listings { try adding.add("a-0", at: time(0), key: "k") }
        let second = try adding.listings { try adding.add("a-1", at: time(1), key: "k") }
        let others = try adding.listings {
            for number in 2..<50 { try adding.add("a-\(number)", at: time(number), key: "k\(number)") }
        }
        #expect(second < first && others == 48 * second)
    }

    @Test func `an operation comes after operations of its key that another process has dated ahead`() throws {
        let first = try process { $0.defaultRoute.ordering = .key }
        let second = try process { $0.defaultRoute.ordering = .key }
        try first.add("a", at: time(0), key: "k")
        try second.add("b", at: time(5_000_000), key: "k")
        try first.add("c", at: time(1), key: "k")
        try first.add("d", at: time(2), key: "other")
        let order = try queue.entries().map(\.name).sorted { $0.createdAt < $1.createdAt }.map(\.id.description)
        #expect(order == ["a", "d", "b", "c"])
    }

    @Test func `after the clock was set back an operation comes after earlier operations of its key`() throws {
        let adding = try process { $0.defaultRoute.ordering = .key }
        try adding.add("a", at: time(0), key: "k")
        try adding.add("b", at: time(100), key: "k")
        try adding.add("c", at: time(50), key: "k")
        let names = try queue.entries().map(\.name).sorted { $0.createdAt < $1.createdAt }
        #expect(names.map(\.id.description) == ["a", "b", "c"])
    }

    @Test func `the times of a process increase, and do not stay ahead of a clock that was set back`() {
        var times = SubmissionClock()
        #expect(times.next(now: time(10)) == time(10))
        #expect(times.next(now: time(10)) == time(11))
        #expect(times.next(now: time(5)) == time(12))
        let past = Self.now - .seconds(61)
        #expect(times.next(now: past) == past)
        #expect(times.next(now: past) == past + .microseconds(1))
    }

    @Test func `an eviction chooses among the operations that another run has put back since the last batch`() throws {
        let added = try queue.add(["a", "b", "c"])
        let run = try queue.open().beginRun(now: Self.now)
        let claim = try #require(try run.claim(added[0]))
        var system = SystemCalls.real
        var isBack = false
        system.renameNoReplace = { (directory, from, to) throws(Errno) in
            try SystemCalls.real.renameNoReplace(directory, from, to)
            if isBack || !String(cString: to).hasPrefix("new/") { return }
            isBack = true
            _ = try? run.settle(claim, .putBack, record: nil, now: Self.now)
            try? run.sync()
        }
        let open = try queue.open(system)
        var control = AdmissionControl(
            Configuration {
                $0.limits.operations = 3
                $0.limits.whenFull = .dropOldest
            })
        var evicted: [String] = []
        for (index, id) in ["d", "e"].enumerated() {
            let accepted = try open.accept([queue.operation(id, 3 + index)], within: &control)
            evicted += accepted.evicted.map(\.name.id.description)
        }
        #expect(isBack && evicted == ["b", "a"])
        try run.end()
    }
}
