import CSystem
import Delivery
import Foundation
import Spool
import Testing

@testable import Drain
@testable import Policy

/// The handling of operations by `send`.
struct OperationSenderTests {
    private let bench: Bench

    init() throws { bench = try Bench() }

    private func isEmpty() throws -> Bool {
        try [QueueState.new, .deferred, .claimed, .failed, .quarantine, .delivered]
            .allSatisfy { try bench.names($0).isEmpty }
    }

    // MARK: - The file

    @Test func `a delivered operation is claimed during its request, then gone, and its id is free`() throws {
        bench.configuration.retention.delivered = .seconds(3600)
        bench.configuration.defaultRoute.keepsAnswer = true
        for _ in 1...2 {
            var claimed: [String] = []
            let result = try bench.send("a") { _ in
                claimed = ((try? bench.names(.claimed)) ?? []).map(\.id.description)
                return .status(204)
            }
            #expect(result.word == "delivered" && claimed == ["a"])
            #expect(try isEmpty())
        }
    }

    @Test func `a deferred operation is in the queue once, with its attempt`() throws {
        let result = try bench.send("a") { _ in .status(503) }
        #expect(result.word == "deferred" && result.reason == "503")
        #expect(try bench.names(.deferred).map(\.attempts) == [1])
        let entry = Entry(state: .deferred, name: try #require(try bench.names(.deferred).first))
        guard case .operation(let stored)? = try bench.spool.read(entry) else { throw Errno(0) }
        #expect(stored.operation.attempts.map(\.status) == [503])
        #expect(try bench.send("a").word == "duplicate")
        #expect(bench.sink?.requests.count == 1)
    }

    @Test func `an operation whose attempts are used up is queued all the same, and not attempted again at once`()
        throws
    {
        bench.configuration.defaultRoute.retry.attempts = 1
        let result = try bench.send("a", retryWithin: .seconds(600)) { _ in .status(503) }
        #expect(result.word == "deferred")
        #expect(try bench.names(.deferred).map(\.attempts) == [1])
        #expect(bench.sink?.requests.count == 1)
    }

    @Test func `a refused operation is gone`() throws {
        let result = try bench.send("a") { _ in .status(422) }
        #expect(result.word == "failed")
        #expect(try isEmpty())
    }

    @Test(arguments: [Ordering.any, .key])
    func `a refused operation whose process dies before it tells the refusal is a dead letter, and a run tells of it`(
        ordering: Ordering
    ) throws {
        bench.configuration.defaultRoute.ordering = ordering
        #expect(try bench.send("a", key: "k", dies: true) { _ in .status(422) }.word == "failed")
        #expect(try bench.names(.claimed).count == 1)
        let summary = try bench.run()
        #expect(summary.failed == 1 && summary.attempts == 0)
        let causes = bench.events.compactMap { event in
            if case .foundEnded(let failure) = event { failure.record.status } else { nil }
        }
        #expect(causes == [422])
        #expect(try bench.names(.failed).map(\.attempts) == [1] && bench.names(.claimed).isEmpty)
    }

    @Test func `a refused operation that cannot be removed is a dead letter`() throws {
        var calls = SystemCalls.real
        calls.unlink = { (directory, path) throws(Errno) in
            let text = String(cString: path)
            if text.hasPrefix("claimed/"), text.hasSuffix(".json") { throw Errno(EIO) }
            try SystemCalls.real.unlink(directory, path)
        }
        let failing = try SpoolDirectory(opening: bench.directory.path, system: calls)
        var errors = 0
        func note(_ event: RunEvent) { if case .inputOutputError = event { errors += 1 } }
        let result = try bench.send("a", in: failing, report: note) { _ in .status(422) }
        #expect(result.word == "failed" && errors == 1)
        #expect(try bench.run().failed == 1 && bench.names(.failed).count == 1)
    }

    @Test func `a send beside a send of the same id promises nothing`() throws {
        let other = try SpoolDirectory(opening: bench.directory.path)
        var words: [String] = []
        let result = try bench.send("a") { _ in
            words = [true, false].compactMap { try? bench.send("a", in: other, queues: $0).word }
            return .status(422)
        }
        #expect(result.word == "failed" && words == ["being sent", "being sent"])
        #expect(try isEmpty())
    }

    @Test func `refused operations do not hold their destination, however many`() throws {
        for number in 0..<12 { #expect(try bench.send("\(number)") { _ in .status(422) }.word == "failed") }
        let state = try bench.state(of: "http://one")
        #expect(state.hold == nil && state.parking.isEmpty && state.incident?.attempts ?? 0 > 1)
    }

    @Test func `without the queue an operation leaves nothing`() throws {
        let result = try bench.send("a", queues: false) { _ in
            #expect(try! isEmpty())
            return .status(503)
        }
        #expect(result.word == "deferred")
        #expect(try isEmpty())
    }

    @Test func `without the queue an operation with an order is refused`() throws {
        bench.configuration.defaultRoute.coalesce = true
        #expect(try bench.send("a", queues: false).word == "refused")
        #expect(bench.sink == nil)
        #expect(try isEmpty())
    }

    @Test func `without the queue an operation is attempted again under the next attempt number`() throws {
        bench.configuration.defaultRoute.retry = BackoffSchedule(delays: .list([.seconds(10)]), attempts: 9)
        var attempts: [String?] = []
        let result = try bench.send("a", retryWithin: .seconds(600), queues: false) { request in
            attempts.append(request.headers.first { $0.name == "Drainq-Attempt" }?.value)
            return .status(attempts.count < 3 ? 503 : 204)
        }
        #expect(result.word == "delivered" && attempts == ["1", "2", "3"])
    }

    @Test func `send is no sign of runs, however long it waits`() throws {
        bench.configuration.defaultRoute.retry = BackoffSchedule(delays: .list([.seconds(100)]), attempts: 9)
        var attempts = 0
        let result = try bench.send("a", retryWithin: .seconds(600)) { _ in
            attempts += 1
            return .status(attempts < 3 ? 503 : 204)
        }
        #expect(result.word == "delivered" && attempts == 3)
        #expect(try bench.spool.runTimes() == RunTimes())
    }

    @Test func `an operation that the queue refuses is not sent`() throws {
        let key = String(repeating: "k", count: 1025)
        guard case .refused(let refusal) = try bench.send("a", key: key) else {
            Issue.record("sent")
            return
        }
        #expect(refusal.isDefect && bench.sink == nil)
    }

    @Test func `with a full queue nothing is sent`() throws {
        bench.configuration.limits.operations = 1
        try bench.add(1)
        guard case .refused(let refusal) = try bench.send("a") else {
            Issue.record("sent")
            return
        }
        #expect(!refusal.isDefect && bench.sink == nil)
        #expect(try bench.names(.new).count == 1)
    }

    @Test func `a full queue evicts its oldest operation only for an operation that stays`() throws {
        bench.configuration.limits = Limits(operations: 1, whenFull: .dropOldest)
        try bench.add(1)
        #expect(try bench.send("a").word == "delivered")
        #expect(try bench.send("b") { _ in .status(422) }.word == "failed")
        #expect(try bench.names(.new).map(\.id.description) == ["default-0"])
        guard case .postponed(let postponement) = try bench.send("c", answer: { _ in .status(503) }) else {
            Issue.record("not queued")
            return
        }
        #expect(postponement.displaced?.evicted.map(\.name.id.description) == ["default-0"])
        #expect(try bench.names(.new).isEmpty && bench.names(.deferred).count == 1)
    }

    @Test func `with a full disk nothing is sent`() throws {
        var calls = SystemCalls.real
        let open = calls.open
        calls.open = { (directory, name, flags, mode) throws(Errno) in
            if flags & O_CREAT != 0, String(cString: name).hasPrefix("tmp/") { throw Errno(ENOSPC) }
            return try open(directory, name, flags, mode)
        }
        let full = try SpoolDirectory(opening: bench.directory.path, system: calls)
        #expect(throws: SpoolError.self) { try bench.send("a", in: full) }
        #expect(bench.sink == nil)
        #expect(try isEmpty())
    }

    @Test func `a sending process that dies leaves its operation to the next run`() throws {
        var run: SpoolRun? = try bench.spool.beginRun(now: bench.now)
        var control = AdmissionControl(bench.configuration)
        var submission = Submission(
            Operation(header: OperationHeader(id: OperationID("a")!, createdAt: bench.now), body: Array("1".utf8)),
            hasOwnID: true, at: bench.now, isDated: true)
        guard case .accepted? = try run?.accept(&submission, within: &control) else { throw Errno(0) }
        #expect(try bench.names(.claimed).count == 1)
        run = nil
        #expect(try bench.run().delivered == 1)
        #expect(try isEmpty())
    }

    @Test func `a run does not count a sending process as another run`() throws {
        try bench.add(1)
        var end: RunSummary.End?
        let result = try bench.send("a") { _ in
            end = try? bench.run(RunOptions(failsIfBusy: true)).end
            return .status(204)
        }
        #expect(result.word == "delivered" && end == .done)
        #expect(try isEmpty())
    }

    // MARK: - Errors

    @Test func `a result is answered although the ledger cannot be written`() throws {
        var untold: [SpoolError] = []
        func note(_ event: RunEvent) { if case .inputOutputError(let error) = event { untold.append(error) } }
        let lock = "\(bench.spool.path)/state/lock"
        try #require(unlink(lock) == 0 && mkdir(lock, 0o700) == 0)
        #expect(try bench.send("a", report: note) { _ in .status(200) }.word == "delivered")
        #expect(try bench.send("b", report: note) { _ in .status(503) }.word == "deferred")
        #expect(untold.allSatisfy { $0.description == "cannot lock 'state/lock': Is a directory" } && !untold.isEmpty)
    }

    @Test func `without libcurl URLSession makes the attempt, unless the destination names libcurl`() throws {
        bench.libcurlDefect = "libcurl.so.4 cannot be opened: No such file or directory"
        #expect(try bench.send("a").word == "delivered")
        #expect(bench.sink?.requests.map(\.transport) == [.urlsession])
        bench.configuration.destinations["http://one"] = DestinationSettings(transport: .libcurl)
        #expect(try bench.send("b").reason.contains("libcurl.so.4 cannot be opened"))
        #expect(bench.sink?.requests.isEmpty == true)
    }

    @Test func `agents that cannot be started charge neither the operation nor the destination`() throws {
        bench.failure = SinkError("cannot start a delivery agent: Too many open files")
        for number in 0..<6 {
            let result = try bench.send("\(number)")
            #expect(result.word == "broken" && result.reason == "cannot start a delivery agent: Too many open files")
        }
        #expect(try (bench.names(.new) + bench.names(.deferred)).map(\.attempts) == Array(repeating: 0, count: 6))
        let state = try bench.state(of: "http://one")
        #expect(state.failures == 0 && state.hold == nil && state.window == nil)
    }

    // MARK: - Answers

    @Test func `the item's result decides a batch with a single operation`() throws {
        bench.configuration.defaultRoute.batch = Batch(
            max: 5, results: Batch.Results(pointer: JSONPointer("/items")!, status: JSONPointer("/status")!))
        let answer = AttemptReport.Answer(
            status: 200, headers: [HeaderField(name: "Content-Type", value: "application/json")],
            body: Array(#"{"items":[{"status":400}]}"#.utf8))
        #expect(try bench.send("a") { _ in .answer(answer) }.word == "failed")
    }

    @Test func `the file name has the attempt of send, and the time of the next attempt`() throws {
        bench.configuration.defaultRoute.keyTTL = .seconds(2)
        #expect(try bench.send("a") { _ in .failure(.timeout, detail: "") }.word == "deferred")
        #expect(try bench.run().attempts == 0)
        bench.now = bench.now + .seconds(61)
        // The server has forgotten the key of the first attempt.
        let summary = try bench.run()
        #expect(summary.attempts == 0 && summary.ambiguous == 1)
        #expect(try bench.names(.deferred).map(\.attempts) == [1])
    }

    @Test func `a paused queue takes the operation unsent, without an interruption`() throws {
        try bench.spool.setPaused(true)
        #expect(try bench.send("a").wait == .resume)
        #expect(try bench.names(.new).map(\.interruptions) == [0])
    }

    @Test func `an operation whose user has no credentials waits without a hold`() throws {
        bench.configuration.defaultRoute.headers = [HeaderField(name: "Authorization", value: "${secret:token}")]
        bench.configuration.secrets = ["token": .operationFile("tokens/{key}")]
        bench.credentials.values = { _, files in
            SecretValues(failures: ["token": "is missing"], files: files)
        }
        let missing = try bench.send("a", key: "ann") { _ in .status(204) }
        #expect(missing.word == "deferred" && missing.reason == "the secret 'token' is missing")
        #expect(try bench.names(.new).map(\.attempts) == [0] && bench.state(of: "http://one").hold == nil)
    }

    @Test func `a held destination gets a probe an hour, however many operations are sent`() throws {
        var requests = 0
        func send(_ id: String) throws {
            _ = try bench.send(id) { _ in
                requests += 1
                return .status(401)
            }
        }
        for id in ["a", "b", "c"] { try send(id) }
        #expect(requests == 2)
        bench.now = bench.now + .seconds(3601)
        for id in ["d", "e", "f", "g"] { try send(id) }
        #expect(requests == 3)
    }

    @Test func `a probe with a different answer ends the hold`() throws {
        for id in ["a", "b"] { _ = try bench.send(id) { _ in .status(401) } }
        #expect(try bench.state(of: "http://one").hold != nil)
        bench.now = bench.now + .seconds(3601)
        #expect(try bench.send("c") { _ in .status(404) }.word == "failed")
        #expect(try bench.state(of: "http://one").hold == nil)
    }

    @Test func `a hold ends when the configuration blamed for the hold has changed`() throws {
        for id in ["a", "b"] { _ = try bench.send(id) { _ in .status(401) } }
        #expect(try bench.send("c").word == "held")
        bench.configuration.destinations["http://one"] = DestinationSettings(transport: .urlsession)
        #expect(try bench.send("d").word == "delivered")
        #expect(try bench.state(of: "http://one").hold == nil)
    }

    @Test func `each operation goes by the configuration of its moment`() throws {
        var urls: [String] = []
        func world() -> World {
            bench.world { request in
                urls.append(request.url)
                return .status(204)
            }
        }
        var first = world()
        var changed: Configuration?
        first.renewal = {
            guard let changed else { return nil }
            return (changed, world())
        }
        var sender = OperationSender(
            spool: bench.spool, configuration: bench.configuration, options: OperationSender.Options(), world: first
        ) { _ in }
        func send(_ id: String) throws -> String {
            bench.now = bench.now + .microseconds(1)
            let header = OperationHeader(
                id: OperationID(id)!, type: .default, createdAt: bench.now, contentType: "application/json", key: "k")
            return try sender(
                Submission(
                    Operation(header: header, body: Array("1".utf8)), hasOwnID: true, at: bench.now, isDated: true)
            ).word
        }
        #expect(try send("a") == "delivered")
        changed = bench.configuration
        changed?.defaultRoute.url = "http://two/"
        changed?.defaultRoute.ordering = .key
        #expect(try send("b") == "delivered")
        #expect(urls == ["http://one/default", "http://two/"])
        // The new order counts.
        try bench.add(1) { $0.key = "k" }
        #expect(try send("c") == "deferred" && urls.count == 2)
    }

    // MARK: - Retries

    @Test func `an operation is attempted again by the schedule, within the time for retries`() throws {
        bench.configuration.defaultRoute.retry = BackoffSchedule(delays: .list([.seconds(10)]), attempts: 9)
        var requests = 0
        let result = try bench.send("a", retryWithin: .seconds(35)) { _ in
            requests += 1
            return .status(500)
        }
        #expect(result.word == "deferred" && requests == 4 && bench.slept.count == 3)
        let names = try bench.names(.deferred)
        #expect(names.map(\.attempts) == [4])
        guard case .operation(let stored)? = try bench.spool.read(Entry(state: .deferred, name: names[0])) else {
            throw Errno(0)
        }
        #expect(stored.operation.attempts.count == 4)
    }

    @Test func `an attempt whose record has no room is followed by the next`() throws {
        bench.configuration.defaultRoute.retry = BackoffSchedule(delays: .list([.seconds(10)]), attempts: 9)
        var calls = SystemCalls.real
        calls.open = { (directory, path, flags, mode) throws(Errno) in
            if flags & O_APPEND != 0, String(cString: path).hasPrefix("claimed/") { throw Errno(ENOSPC) }
            return try SystemCalls.real.open(directory, path, flags, mode)
        }
        var requests = 0
        let full = try SpoolDirectory(opening: bench.directory.path, system: calls)
        let result = try bench.send("a", in: full, retryWithin: .seconds(35)) { _ in
            requests += 1
            return requests == 1 ? .failure(.timeout, detail: "") : .status(204)
        }
        #expect(result.word == "delivered" && requests == 2)
    }

    @Test func `a refusal after a retry is a failure, too`() throws {
        bench.configuration.defaultRoute.retry = BackoffSchedule(delays: .list([.seconds(10)]), attempts: 9)
        var requests = 0
        let result = try bench.send("a", retryWithin: .seconds(35)) { _ in
            requests += 1
            return .status(requests == 1 ? 503 : 404)
        }
        #expect(result.word == "failed" && requests == 2)
        #expect(try isEmpty())
    }

    @Test func `a pause of the queue ends the retries`() throws {
        bench.configuration.defaultRoute.retry = BackoffSchedule(delays: .list([.seconds(10)]), attempts: 9)
        let result = try bench.send("a", retryWithin: .seconds(600)) { _ in
            _ = try? bench.spool.setPaused(true)
            return .status(500)
        }
        #expect(result.wait == .resume)
        #expect(try bench.names(.deferred).map(\.attempts) == [1])
    }

    @Test func `a signal ends the wait for a retry`() throws {
        let result = try bench.send("a", retryWithin: .seconds(600)) { _ in
            bench.signals = [15]
            return .status(500)
        }
        #expect(result.word == "deferred" && bench.slept.isEmpty)
        #expect(try bench.names(.deferred).count == 1 && bench.names(.claimed).isEmpty)
    }

    // MARK: - Sequences

    @Test func `an operation behind an older one of its sequence waits for that one`() throws {
        bench.configuration.defaultRoute.ordering = .key
        try bench.add(1) { $0.key = "k" }
        let result = try bench.send("a", key: "k")
        #expect(result.word == "deferred" && result.wait == .older(OperationID("default-0")!))
        #expect(bench.sink == nil)
    }

    @Test func `an operation behind a dead letter that holds its sequence is held`() throws {
        bench.configuration.defaultRoute.ordering = .key
        bench.configuration.defaultRoute.onFailure = .hold
        try bench.add(1) { $0.key = "k" }
        #expect(try bench.run { _ in .status(422) }.failed == 1)
        let result = try bench.send("a", key: "k")
        #expect(result.word == "held" && result.wait == .failed(OperationID("default-0")!))
    }

    @Test func `an operation that a newer one of its key supersedes waits for its removal`() throws {
        bench.configuration.defaultRoute.coalesce = true
        let later = bench.now + .seconds(60)
        try bench.add(1) { ($0.key, $0.createdAt) = ("k", later) }
        let result = try bench.send("a", key: "k")
        #expect(result.word == "deferred" && result.wait == .newer(OperationID("default-0")!))
        #expect(try bench.run().superseded == 1 && bench.names(.new).isEmpty)
    }

    @Test func `an operation claimed by a dead run goes first`() throws {
        bench.configuration.defaultRoute.coalesce = true
        try bench.add(1) { $0.key = "k" }
        do {
            let run = try bench.spool.beginRun(now: bench.now)
            let name = try #require(try bench.names(.new).first)
            _ = try #require(try run.claim(Entry(state: .new, name: name)))
        }
        bench.now = bench.now + .seconds(1)
        #expect(try bench.send("a", key: "k").wait == .nothing)
        // No request had begun: the death is no interruption.
        #expect(try bench.names(.new).map(\.interruptions) == [0, 0])
    }

    @Test func `while another process has the sequence lock no ordered operation is sent`() throws {
        bench.configuration.defaultRoute.coalesce = true
        let lock = try #require(try bench.sequenceLock())
        #expect(try bench.send("a", key: "k").reason == "another process sends operations that have an order")
        #expect(try bench.names(.new).count == 1)
        lock.release()
        #expect(try bench.run().delivered == 1)
        let again = try #require(try bench.sequenceLock())
        let now = bench.now
        var looks = 0
        // The lock is free at the third try.
        let result = try bench.send("b", key: "k", retryWithin: .seconds(60)) {
            looks += 1
            if looks == 20 { again.release() }
            return now
        } answer: { _ in
            .status(204)
        }
        #expect(result.word == "delivered" && !bench.slept.isEmpty)
    }

    @Test func `between two attempts of an operation its sequence waits, and all other sequences go on`() throws {
        bench.configuration.defaultRoute = Route(
            url: "http://one/{key}", retry: BackoffSchedule(delays: .list([.milliseconds(1)]), attempts: 3),
            ordering: .key)
        let now = bench.now
        var requests = 0
        var delivered: [String] = []
        var hasRun = false
        let result = try bench.send("a", key: "k", retryWithin: .seconds(60)) {
            // The first read of the clock after the wait: send has not taken the lock again yet.
            if requests == 1, !hasRun, let lock = try? bench.sequenceLock() {
                lock.release()
                hasRun = true
                for key in ["k", "other"] { _ = try? bench.add(1) { $0.key = key } }
                _ = try? bench.run { request in
                    delivered.append(request.url)
                    return .status(200)
                }
            }
            return now
        } answer: { _ in
            requests += 1
            return .status(requests == 1 ? 500 : 200)
        }
        #expect(result.word == "delivered" && hasRun && requests == 2)
        #expect(delivered == ["http://one/other"])
        #expect(try bench.run().delivered == 1)
    }

    @Test func `an older value added between two attempts of a newer value is not removed`() throws {
        bench.configuration.defaultRoute = Route(
            url: "http://one/{key}", retry: BackoffSchedule(delays: .list([.milliseconds(1)]), attempts: 3))
        bench.configuration.defaultRoute.coalesce = true
        let now = bench.now
        var requests = 0
        var hasRun = false
        let result = try bench.send("new", key: "k", retryWithin: .seconds(60)) {
            if requests == 1, !hasRun, let lock = try? bench.sequenceLock() {
                lock.release()
                hasRun = true
                _ = try? bench.add(1) { ($0.key, $0.createdAt) = ("k", now + .seconds(-60)) }
                let summary = try? bench.run()
                #expect(summary?.attempts == 0 && summary?.superseded == 0)
            }
            return now
        } answer: { _ in
            requests += 1
            return .status(requests == 1 ? 500 : 422)
        }
        // The older value is in the queue by then, so the newer value waits for a run to decide.
        #expect(hasRun && result.wait == .nothing)
        #expect(try bench.names(.new).count == 1 && bench.names(.deferred).count == 1)
    }
}
