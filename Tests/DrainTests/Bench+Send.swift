import Delivery
import Policy
import Spool

@testable import Drain

extension Bench {
    /// Sends an operation as `send` does. `report` gets the events. `dies`: the process dies before it tells the result.
    func send(
        _ id: String, type: TypeName = .default, key: String? = nil, in spool: SpoolDirectory? = nil,
        retryWithin: Duration? = nil, queues: Bool = true, dies: Bool = false, now: (() -> Timestamp)? = nil,
        report: @escaping (RunEvent) -> Void = { _ in },
        answer: @escaping (OutgoingRequest) -> AttemptReport.Result
    ) throws -> OperationSender.Result {
        self.now = self.now + .microseconds(1)
        let header = OperationHeader(
            id: OperationID(id)!, type: type, createdAt: self.now, contentType: "application/json", key: key)
        var world = world(answer)
        if let now { world.clock.now = now }
        var sender = OperationSender(
            spool: spool ?? self.spool, configuration: configuration,
            options: OperationSender.Options(retryWithin: retryWithin, queues: queues), world: world, report: report)
        let result = try sender(
            Submission(
                Operation(header: header, body: Array("1".utf8)), hasOwnID: true, at: self.now, isDated: true))
        if !dies { _ = sender.haveTold() }
        return result
    }

    /// Sends an operation, which the server accepts.
    func send(
        _ id: String, key: String? = nil, in spool: SpoolDirectory? = nil, queues: Bool = true
    ) throws -> OperationSender.Result {
        try send(id, key: key, in: spool, queues: queues) { _ in .status(204) }
    }
}

extension Bench {
    /// Replaces an operation as `import --replace` does. Returns the replaced operation.
    func replace(_ entry: Entry, by body: String) throws -> [Entry] {
        let old = try spool.portable(entry)!.get()
        let new = try PortableOperation(
            entry, file: OperationFile.encode(Operation(header: old.header, body: Array(body.utf8))))
        var control = AdmissionControl(configuration)
        return try spool.accept([Submission(new, at: now)], within: &control, replacing: true).replaced
    }
}

extension OperationSender.Result {
    /// The result in a word: for a postponement its cause, with the reason in `reason` or `wait`.
    var word: String {
        switch self {
        case .exists(.stays): "duplicate"
        case .exists(.mayEnd): "being sent"
        case .refused: "refused"
        case .delivered(_, _, let isSettled): isSettled ? "delivered" : "delivered, but not settled"
        case .failed: "failed"
        case .postponed(let postponement): "\(postponement.cause)"
        }
    }

    var reason: String {
        if case .postponed(let postponement) = self, case .words(let words) = postponement.reason { return words }
        return ""
    }

    /// The reason that a listing would show.
    var wait: WaitReason? {
        if case .postponed(let postponement) = self, case .wait(let wait, _) = postponement.reason { return wait }
        return nil
    }
}
