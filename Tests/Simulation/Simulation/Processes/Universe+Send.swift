internal import Drain
internal import Policy
internal import Spool

extension Universe {
    func send(
        _ offers: [Plan.PlannedOffer], _ plan: Plan.SendPlan, _ spool: SpoolDirectory, _ process: SimulatedProcess
    ) throws(SpoolError) {
        let options = OperationSender.Options(
            timeout: plan.timeout, retryWithin: plan.retryWithin, queues: plan.isQueued)
        var sender = OperationSender(
            spool: spool, configuration: configuration, options: options, world: world(of: process)
        ) { [unowned self] event in takeAside(event, of: process) }
        for planned in offers {
            let (offer, operation) = offer(planned, plan.isQueued ? .send : .sendUnqueued, process)
            note(process.id, .offers(offer))
            let submission = Submission(
                operation, hasOwnID: offer.id != nil, at: now(on: process.host), isDated: offer.createdAt != nil)
            note(process.id, .answers(offer.label, answer(try sender(submission), process)))
            _ = sender.haveTold()
        }
        note(process.id, .ends(status: 0))
    }

    private func answer(_ result: OperationSender.Result, _ process: SimulatedProcess) -> Answer {
        switch result {
        case .delivered: return .delivered
        case .failed: return .failed
        case .exists(.stays): return .duplicate
        case .exists(.mayEnd): return .notAttempted
        case .refused(.limit): return .full
        case .refused(.defect): return .refused
        case .postponed(let postponement):
            guard let displaced = postponement.displaced else { return .failed }
            for older in displaced.superseded {
                note(process.id, .reports(.superseded(older.entry.name.id, by: older.newer)))
            }
            for entry in displaced.evicted { note(process.id, .reports(.evicted(entry.name.id))) }
            switch postponement.cause {
            case .deferred: return .queued(isHeld: false)
            case .held: return .queued(isHeld: true)
            // Without a sync there is no promise.
            case .broken: return .error("\(postponement.reason)")
            }
        }
    }
}
