import CSystem
import Delivery
import Policy
import Spool
import Testing

@testable import Drain

final class SendingTests {
    /// What could not be remembered.
    private var untold: [SpoolError] = []

    private func operation(_ bench: Bench, key: String? = nil) -> Operation {
        let header = OperationHeader(id: OperationID("a")!, createdAt: bench.now, key: key)
        return Operation(header: header, body: Array("1".utf8))
    }

    private func send(
        _ bench: Bench, _ operation: Operation, retryWithin: Duration? = nil, now: (() -> Timestamp)? = nil,
        answer: @escaping (OutgoingRequest) -> AttemptReport.Result
    ) throws -> Sending.Result {
        var world = bench.world(answer)
        if let now { world.clock.now = now }
        return try Sending(
            spool: bench.spool, configuration: bench.configuration,
            options: Sending.Options(retryWithin: retryWithin), world: world
        ) { self.untold.append($0) }(operation)
    }

    @Test func `what was delivered is answered also where it cannot be remembered`() throws {
        let bench = try Bench()
        let lock = "\(bench.spool.path)/state/lock"
        try #require(unlink(lock) == 0 && mkdir(lock, 0o700) == 0)
        guard case .delivered = try send(bench, operation(bench), answer: { _ in .status(200) }) else {
            Issue.record("it would be sent again")
            return
        }
        guard case .postponed = try send(bench, operation(bench), answer: { _ in .status(503) }) else {
            Issue.record("it would be in no queue")
            return
        }
        #expect(untold.allSatisfy { $0.description == "cannot lock 'state/lock': Is a directory" } && !untold.isEmpty)
    }

    @Test func `where libcurl cannot be used URLSession makes the attempt, unless libcurl is named`() throws {
        let bench = try Bench()
        bench.libcurlDefect = "libcurl.so.4 cannot be opened: No such file or directory"
        guard case .delivered = try send(bench, operation(bench), answer: { _ in .status(200) }) else {
            Issue.record("URLSession could have delivered it")
            return
        }
        #expect(bench.sink?.requests.map(\.transport) == [.urlsession])
        bench.configuration.destinations["http://one"] = DestinationSettings(transport: .libcurl)
        guard case .postponed(let postponement) = try send(bench, operation(bench), answer: { _ in .status(200) })
        else {
            Issue.record("it was attempted by a transport that was not named")
            return
        }
        #expect(postponement.reason.contains("libcurl.so.4 cannot be opened"))
        #expect(bench.sink?.requests.isEmpty == true)
    }

    @Test func `what this machine cannot even try is nobody's failure`() throws {
        let bench = try Bench()
        bench.failure = SinkError("cannot start a delivery agent: Too many open files")
        for _ in 0..<6 {
            guard case .broken(let postponed) = try send(bench, operation(bench), answer: { _ in .status(200) })
            else {
                Issue.record("it is not said that nothing can be attempted")
                return
            }
            #expect(postponed.operation.attempts.isEmpty && postponed.name.attempts == 0)
        }
        #expect(try bench.state(of: "http://one").isBlank)
    }

    @Test func `its turn is kept until it is in its place`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.coalesce = true
        let result = try send(bench, operation(bench, key: "k")) { _ in .status(500) }
        guard case .postponed(let postponed) = result, let turn = postponed.turn else {
            Issue.record("it is not postponed with its turn")
            return
        }
        #expect(try bench.spool.lockSequences() == nil)
        turn.end()
        #expect(try bench.spool.lockSequences() != nil)
    }

    @Test func `of a batch of one the result decides`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.batch = Batch(
            max: 5, results: Batch.Results(pointer: JSONPointer("/items")!, status: JSONPointer("/status")!))
        let answer = AttemptReport.Answer(
            status: 200, headers: [HeaderField(name: "Content-Type", value: "application/json")],
            body: Array(#"{"items":[{"status":400}]}"#.utf8))
        guard case .failed = try send(bench, operation(bench), answer: { _ in .answer(answer) }) else {
            Issue.record("a refused operation counts as delivered")
            return
        }
    }

    @Test func `an attempt that it made is in the name, with the time of the next one`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.keyTTL = .seconds(2)
        guard
            case .postponed(let postponed) = try send(
                bench, operation(bench), answer: { _ in .failure(.timeout, detail: "") })
        else {
            Issue.record("it would be in no queue")
            return
        }
        #expect(postponed.name.attempts == 1 && postponed.operation.attempts.count == 1)
        var control = AdmissionControl(Configuration())
        let submission = Submission(
            postponed.operation, as: postponed.name, hasOwnID: false, at: bench.now, isDated: true)
        _ = try bench.spool.accept([submission], within: &control)
        #expect(try bench.run().attempts == 0)
        bench.now = bench.now + .seconds(61)
        // The server has forgotten the key of the first attempt.
        let summary = try bench.run()
        #expect(summary.attempts == 0 && summary.ambiguous == 1)
        #expect(try bench.names(.deferred).map(\.attempts) == [1])
    }

    @Test func `an operation that was not sent is queued as it was`() throws {
        let bench = try Bench()
        try bench.spool.setPaused(true)
        guard case .postponed(let postponed) = try send(bench, operation(bench), answer: { _ in .status(200) }) else {
            Issue.record("it was sent")
            return
        }
        #expect(postponed.name == EntryName(naming: operation(bench).header))
    }

    @Test func `a held destination is probed once in a while, however often it is sent to`() throws {
        let bench = try Bench()
        var requests = 0
        func send(_ id: String) throws {
            var operation = operation(bench)
            operation.header.id = OperationID(id)!
            _ = try self.send(bench, operation) { _ in
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

    @Test func `a hold ends for it too when what the hold was blamed on has changed`() throws {
        let bench = try Bench()
        for _ in 0..<2 { _ = try send(bench, operation(bench)) { _ in .status(401) } }
        var other = operation(bench)
        other.header.id = OperationID("b")!
        _ = try send(bench, other) { _ in .status(401) }
        guard case .postponed(let postponed) = try send(bench, other, answer: { _ in .status(204) }) else {
            Issue.record("it was sent to a held destination")
            return
        }
        #expect(postponed.isHeld)
        bench.configuration.destinations["http://one"] = DestinationSettings(transport: .urlsession)
        guard case .delivered = try send(bench, other, answer: { _ in .status(204) }) else {
            Issue.record("it still waits for a probe")
            return
        }
        #expect(try bench.state(of: "http://one").hold == nil)
    }

    @Test func `it is tried again by the schedule, within the time for retries`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.retry = BackoffSchedule(delays: .list([.seconds(10)]), attempts: 9)
        var requests = 0
        let result = try send(bench, operation(bench), retryWithin: .seconds(35)) { _ in
            requests += 1
            return .status(500)
        }
        guard case .postponed(let postponed) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(requests == 4 && postponed.name.attempts == 4 && postponed.operation.attempts.count == 4)
        #expect(bench.slept.count == 3)
    }

    @Test func `a pause of the queue ends the retries`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.retry = BackoffSchedule(delays: .list([.seconds(10)]), attempts: 9)
        let result = try send(bench, operation(bench), retryWithin: .seconds(600)) { _ in
            try? bench.spool.setPaused(true)
            return .status(500)
        }
        guard case .postponed(let postponed) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(postponed.reason == "the queue is paused" && postponed.name.attempts == 1)
    }

    @Test func `a signal ends its wait`() throws {
        let bench = try Bench()
        let result = try send(bench, operation(bench), retryWithin: .seconds(600)) { _ in
            bench.signals = [15]
            return .status(500)
        }
        guard case .postponed = result else {
            Issue.record("\(result)")
            return
        }
        #expect(bench.slept.isEmpty)
    }

    // MARK: - Sequences

    @Test func `what a dead run held goes first`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.coalesce = true
        try bench.add(1) { $0.key = "k" }
        do {
            let run = try bench.spool.beginRun(now: bench.now)
            let name = try #require(try bench.names(.new).first)
            _ = try #require(try run.claim(Entry(state: .new, name: name)))
        }
        bench.now = bench.now + .seconds(1)
        guard
            case .postponed(let postponed) = try send(bench, operation(bench, key: "k"), answer: { _ in .status(200) })
        else {
            Issue.record("it overtook an older value")
            return
        }
        #expect(postponed.reason == "older operations of its sequence come first")
        #expect(try bench.names(.new).map(\.interruptions) == [1])
        postponed.turn?.end()
    }

    @Test func `between two attempts other sequences go on, and its own waits`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute = Route(
            url: "http://one/{key}", retry: BackoffSchedule(delays: .list([.milliseconds(1)]), attempts: 3),
            ordering: .key)
        let now = bench.now
        let first = operation(bench, key: "k")
        var requests = 0
        var delivered: [String] = []
        var hasRun = false
        let result = try send(bench, first, retryWithin: .seconds(60)) {
            // Asked for the first time after the pause: the lock is not taken again yet.
            if requests == 1, !hasRun, let lock = try? bench.spool.lockSequences() {
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
        guard case .delivered = result else {
            Issue.record("\(result)")
            return
        }
        #expect(hasRun && requests == 2)
        #expect(delivered == ["http://one/other"])
        #expect(try bench.run().delivered == 1)
    }
}
