import Policy
package import Spool

/// The treatment of one operation by `send`: refuses what `add` would refuse, attempts it at once, and queues it if it
/// cannot be delivered now.
package struct OperationSender {
    package enum Result {
        /// An operation of that id is in the queue already. Nothing was sent.
        case duplicate(of: QueueState)
        /// The queue would not accept the operation. Nothing was sent.
        case refused(AdmissionRefusal)
        /// `answer` is the body. `hasKept` is false if an error has lost the values that the answer leaves for its key.
        case delivered(AttemptEvent, answer: [UInt8], hasKept: Bool)
        /// The operation failed for good. It is not in the queue.
        case failed(AttemptEvent)
        /// The operation was not delivered. `isBroken`: this machine cannot make any attempt.
        case postponed(Sending.Postponement, isBroken: Bool, Queueing)
    }

    /// What became of an operation that was not delivered.
    package enum Queueing {
        /// The queue has it.
        case queued(Accepted)
        /// The caller did not want it queued.
        case notAsked
        case impossible(reason: String)
    }

    private let sending: Sending
    private let queues: Bool

    /// `queues` says whether an operation that is not delivered enters the queue.
    package init(_ sending: Sending, queues: Bool) {
        self.sending = sending
        self.queues = queues
    }

    /// Sends an operation. Reserves an id that the submitter chose until the operation is delivered, failed or in the
    /// queue.
    package func callAsFunction(_ submission: Submission) throws(SpoolError) -> Result {
        var reservation: Reservation?
        if submission.hasOwnID {
            let (reserved, existing) = try sending.spool.reserve(submission.header.id)
            if let existing { return .duplicate(of: existing) }
            reservation = reserved
        }
        defer { reservation?.release() }
        let rule = AdmissionRule(sending.configuration)
        var submission = submission
        try rule.complete(&submission, in: sending.spool)
        if let refusal = try rule.objection(to: submission.operation, in: sending.spool) { return .refused(refusal) }
        switch try sending(submission.operation) {
        case .delivered(let event, let answer, let hasKept): return .delivered(event, answer: answer, hasKept: hasKept)
        case .failed(let event): return .failed(event)
        case .postponed(let postponement):
            return .postponed(postponement, isBroken: false, queue(postponement, submission.hasOwnID))
        case .broken(let postponement):
            return .postponed(postponement, isBroken: true, queue(postponement, submission.hasOwnID))
        }
    }

    /// Puts the operation into the queue if the caller wants that, and then ends its turn.
    private func queue(_ postponement: Sending.Postponement, _ hasOwnID: Bool) -> Queueing {
        defer { postponement.turn?.end() }
        if !queues { return .notAsked }
        let submission = Submission(
            postponement.operation, as: postponement.name, hasOwnID: hasOwnID, at: sending.world.now(), isDated: true)
        var control = AdmissionControl(sending.configuration)
        let accepted: Accepted
        do throws(SpoolError) {
            accepted = try sending.spool.accept([submission], within: &control)
        } catch {
            return .impossible(reason: "\(error)")
        }
        switch accepted.results.first {
        case .rejected(let limit): return .impossible(reason: "\(limit)")
        case .refused(let reason): return .impossible(reason: reason)
        case .accepted, .duplicate, .inFlight, .notAttempted, nil: return .queued(accepted)
        }
    }
}
