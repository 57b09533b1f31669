import Policy
import Spool
import Testing

@testable import Drain

/// The treatment of one operation by `send`.
struct OperationSenderTests {
    private let bench: Bench

    init() throws { bench = try Bench() }

    private func submission(_ id: String, key: String? = nil) -> Submission {
        bench.now = bench.now + .microseconds(1)
        let header = OperationHeader(
            id: OperationID(id)!, type: .default, createdAt: bench.now, contentType: "application/json", key: key)
        return Submission(
            Operation(header: header, body: Array("1".utf8)), hasOwnID: true, at: bench.now, isDated: true)
    }

    private func sender(queues: Bool = true, status: Int) -> OperationSender {
        let sending = Sending(
            spool: bench.spool, configuration: bench.configuration, options: Sending.Options(),
            world: bench.world { _ in .status(status) }
        ) { Issue.record("\($0)") }
        return OperationSender(sending, queues: queues)
    }

    @Test func `a delivered operation is not in the queue, and its id is free`() throws {
        for _ in 1...2 {
            guard case .delivered = try sender(status: 204)(submission("a")) else {
                Issue.record("not delivered")
                return
            }
        }
        #expect(try bench.names(.new).isEmpty && bench.names(.deferred).isEmpty)
    }

    @Test func `an operation that fails temporarily is in the queue with its attempt, once`() throws {
        guard case .postponed(let postponement, false, .queued) = try sender(status: 503)(submission("a")) else {
            Issue.record("not queued")
            return
        }
        #expect(postponement.operation.attempts.count == 1)
        #expect(try bench.names(.deferred).map(\.attempts) == [1])
        guard case .duplicate(of: .deferred) = try sender(status: 204)(submission("a")) else {
            Issue.record("no duplicate")
            return
        }
        #expect(bench.sink?.requests.count == 1)
    }

    @Test func `an operation that is not to be queued leaves nothing`() throws {
        guard case .postponed(_, false, .notAsked) = try sender(queues: false, status: 503)(submission("a")) else {
            Issue.record("queued")
            return
        }
        #expect(try bench.names(.deferred).isEmpty && bench.names(.new).isEmpty)
    }

    @Test func `an operation that the queue would refuse is not sent`() throws {
        let key = String(repeating: "k", count: 1025)
        guard case .refused(let refusal) = try sender(status: 204)(submission("a", key: key)) else {
            Issue.record("sent")
            return
        }
        #expect(refusal.isDefect && bench.sink == nil)
    }

    @Test func `an operation whose queue is full by then is reported`() throws {
        bench.configuration.limits.operations = 1
        try bench.add(1)
        guard case .postponed(_, false, .impossible) = try sender(status: 503)(submission("a")) else {
            Issue.record("queued")
            return
        }
        #expect(try bench.names(.deferred).isEmpty)
    }
}
