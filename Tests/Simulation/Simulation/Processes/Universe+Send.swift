internal import Drain
internal import Policy
internal import Spool

extension Universe {
    func send(
        _ offers: [Plan.PlannedOffer], _ plan: Plan.SendPlan, _ spool: SpoolDirectory, _ process: SimulatedProcess
    ) throws(SpoolError) {
        let sending = Sending(
            spool: spool, configuration: configuration,
            options: Sending.Options(timeout: plan.timeout, retryWithin: plan.retryWithin), world: world(of: process)
        ) { [unowned self] in note(process.id, .reports(.error("\($0)"))) }
        for planned in offers {
            guard let (offer, operation) = offer(planned, plan.isQueued ? .send : .sendUnqueued, process) else {
                continue
            }
            note(process.id, .offers(offer))
            let answer = try send(offer, operation, plan, sending, spool, process)
            note(process.id, .answers(offer.label, answer))
        }
        note(process.id, .ends(status: 0))
    }

    private func send(
        _ offer: Offer, _ operation: Policy.Operation, _ plan: Plan.SendPlan, _ sending: Sending,
        _ spool: SpoolDirectory, _ process: SimulatedProcess
    ) throws(SpoolError) -> Answer {
        var reservation: Reservation?
        if offer.id != nil {
            let (reserved, existing) = try spool.reserve(operation.header.id)
            if existing != nil { return .duplicate }
            reservation = reserved
        }
        defer { reservation?.release() }
        let rule = AdmissionRule(configuration)
        var submission = Submission(
            operation, hasOwnID: offer.id != nil, at: now(on: process.host), isDated: offer.createdAt != nil)
        try rule.complete(&submission, in: spool)
        if try rule.objection(to: submission.operation, in: spool) != nil { return .refused }
        switch try sending(submission.operation) {
        case .delivered: return .delivered
        case .failed: return .failed
        case .postponed(let postponement), .broken(let postponement):
            defer { postponement.turn?.end() }
            guard plan.isQueued else { return .failed }
            let late = Submission(
                postponement.operation, as: postponement.name, hasOwnID: offer.id != nil, at: now(on: process.host),
                isDated: true)
            var control = AdmissionControl(configuration)
            let accepted = try spool.accept([late], within: &control)
            for entry in accepted.evicted { note(process.id, .reports(.evicted(entry.name.id))) }
            switch accepted.results[0] {
            case .accepted: return .queued(isHeld: postponement.isHeld)
            case .duplicate: return .duplicate
            case .rejected: return .full
            case .refused, .inFlight, .notAttempted: return .refused
            }
        }
    }
}
