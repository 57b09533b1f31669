import Delivery
import Policy
import Spool
import Testing

@testable import Drain

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@Suite final class SendingTests {
    /// What could not be remembered.
    private var untold: [SpoolError] = []

    private func operation(_ bench: Bench, key: String? = nil) -> Operation {
        let header = OperationHeader(id: OperationID("a")!, createdAt: bench.now, key: key)
        return Operation(header: header, body: Array("1".utf8))
    }

    private func send(
        _ bench: Bench, _ operation: Operation, answer: @escaping (OutgoingRequest) -> AttemptReport.Result
    ) throws -> Sending.Result {
        try Sending(
            spool: bench.spool, configuration: bench.configuration, options: Sending.Options(),
            world: bench.world(answer)
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

    @Test func `what this machine cannot even try is nobody's failure`() throws {
        let bench = try Bench()
        bench.failure = SinkError("cannot start a delivery agent: Too many open files")
        for _ in 0..<6 {
            guard case .broken(let operation, _) = try send(bench, operation(bench), answer: { _ in .status(200) })
            else {
                Issue.record("it is not said that nothing can be attempted")
                return
            }
            #expect(operation.attempts.isEmpty)
        }
        #expect(try bench.state(of: "http://one").isBlank)
    }

    @Test func `its turn is kept until it is in its place`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.coalesce = true
        let result = try send(bench, operation(bench, key: "k")) { _ in .status(500) }
        guard case .postponed(let operation, _, _, let turn?) = result else {
            Issue.record("it is not postponed with its turn")
            return
        }
        #expect(try bench.spool.lockSequences() == nil)
        _ = try bench.spool.accept([operation], limits: Limits(), durable: false)
        turn.release()
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
}
