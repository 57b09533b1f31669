import Delivery
import Policy
import Spool

/// The judge of answers: decides whether operations are settled now, wait for samples (`StormGuard`), are sent again,
/// wait for a witness (`Parking`), or hold their destination. Asks `Classification` what a status means, and `Accused`
/// which statuses concern credentials.
final class AnswerAssessor {
    let world: World
    let book: DestinationBook
    let conditions: MachineConditions
    let settler: Settler
    let queue: SendQueue
    private let sender: RequestSender

    init(
        _ world: World, _ book: DestinationBook, _ conditions: MachineConditions, _ settler: Settler,
        _ queue: SendQueue, _ sender: RequestSender
    ) {
        self.world = world
        self.book = book
        self.conditions = conditions
        self.settler = settler
        self.queue = queue
        self.sender = sender
    }

    /// Begins each destination's storm guard, which counts on from earlier runs. Lowers its threshold to the number
    /// chosen if more is due: otherwise a limit of three would fail a whole queue, three by three.
    func beginStormGuards(for chosen: [Candidate]) {
        if settler.hasSubmitter { return }
        var counts: [Digest: Int] = [:]
        for candidate in chosen { counts[candidate.destination.digest, default: 0] += 1 }
        for (digest, count) in counts {
            guard let destination = book.destinations[digest] else { continue }
            let threshold = destination.settings.stormGuard
            destination.storm = StormGuard(
                threshold: destination.newest.isEmpty ? threshold : min(threshold, count), limit: threshold,
                before: destination.state.storm)
        }
    }

    /// Applies the withheld answers of destinations where no other operation can be asked. Returns false if there are
    /// none.
    func concludeQuiet() -> Bool {
        let quiet = queue.quietDestinations
        for destination in quiet {
            follow(destination.holdGuard?.nothingElse() ?? destination.storm.nothingElse(), destination)
        }
        return !quiet.isEmpty
    }

    // MARK: - Reports

    /// Processes a report: by operation if the answer has a result for each, else for all operations together.
    func take(_ received: AttemptReport, of attempt: Attempt) {
        // Another attempt may have killed the agent. Alone in an agent, each attempt shows whether it does.
        if received.isSuspect { return queue.enqueueAgain(attempt) }
        attempt.destination.hasReported = true
        attempt.destination.isCautious = false
        let report = SealedReport(received, attempt.redaction)
        let absence = attempt.absence(behind: received, world)
        let meaning = attempt.meaning(of: report, absence, at: world.now())
        if let absence, let error = received.error { conditions.block(for: absence, error) }
        if meaning.mayNeedFreshSecrets, refreshesSecrets(of: attempt) {
            var again = attempt
            again.hasFreshSecrets = true
            return queue.enqueueAgain(again)
        }
        guard let each = meaning.each else {
            if attempt.isMerged, meaning.together.outcome == .failed { return sendApart(attempt) }
            if Batch.isToBeSplit(meaning.together, members: attempt.members.count) {
                return split(attempt, isSent: true)
            }
            return take(AttemptAnswer(attempt: attempt, report: report, verdict: meaning.together))
        }
        for (member, verdict) in zip(attempt.members, each) {
            var alone = attempt
            alone.members = [member]
            if attempt.members.count > 1, verdict.outcome == .failed {
                // Another operation may be to blame. None fails for good before an attempt alone.
                queue.enqueueAgain(alone)
                continue
            }
            alone.isShared = attempt.members.count > 1
            take(AttemptAnswer(attempt: alone, report: report, verdict: verdict))
        }
    }

    /// Processes an error in making a request: the operations are at fault, or the destination has to be held.
    func take(_ error: RequestError, of attempt: Attempt) throws(SpoolError) {
        let destination = attempt.destination
        if attempt.members.count > 1, error.outcome == .failed { return split(attempt, isSent: false) }
        if attempt.isMerged, error.outcome == .failed {
            return try settler.sendApart(attempt.members, destination)
        }
        if let report = error.report { return take(report, of: attempt) }
        if case .headersCommand = error, !attempt.isProbe {
            // The command or this operation alone may be to blame: sign another one before the destination is held.
            let report = SealedReport(
                AttemptReport(result: .failure(.other, detail: error.description), duration: .zero), .none)
            var answer = AttemptAnswer(
                attempt: attempt, report: report, verdict: Verdict(outcome: .held, rule: .request(error)))
            answer.isUnsent = true
            beginHoldGuard(of: destination, by: nil)
            return follow(
                destination.holdGuard!.take(answer, .permanent(0), isSample: attempt.isSample), destination)
        }
        let settlement = Settlement.decide(on: error, now: world.now())
        for member in attempt.members { try settler.settleUnsent(member, settlement, attempt) }
        if error.outcome == .held { book.hold(destination, settlement.record, reason: settlement.rule) }
    }

    /// Settles an attempt that the end of the run cut off, uncharged: the outcome is unknown, and the next run decides.
    func takeCutOff(_ attempt: Attempt) {
        let result = AttemptReport.Result.failure(.cancelled, detail: "cut off by the end of the run")
        let report = SealedReport(
            AttemptReport(result: result, duration: max(.zero, world.now() - attempt.began)), attempt.redaction)
        let verdict = Classification.verdict(on: report, route: attempt.route, now: world.now())
        settler.settle(AttemptAnswer(attempt: attempt, report: report, verdict: verdict))
    }

    /// Looks up the secrets of an attempt again after a 401. Returns whether they differ from those it was sent with.
    /// After a refusal of fresh secrets, does not look them up for `SecretStore.commandRetryInterval`.
    private func refreshesSecrets(of attempt: Attempt) -> Bool {
        let destination = attempt.destination
        let now = world.clock.instant()
        if attempt.hasFreshSecrets {
            destination.refusedFreshSecrets = now
            return false
        }
        if let last = destination.refusedFreshSecrets, now < last + SecretStore.commandRetryInterval { return false }
        if attempt.secrets.values.isEmpty { return false }
        settler.settleDecided()
        return world.credentials.refresh(attempt.secrets)
    }

    /// Sends each half of a refused batch, uncharged. Repeated, this isolates the operation that is refused. `isSent`:
    /// whether the batch was sent, and its halves have the next attempt number.
    private func split(_ attempt: Attempt, isSent: Bool) {
        let middle = attempt.members.count / 2
        for members in [attempt.members[..<middle], attempt.members[middle...]] {
            var half = attempt
            half.members = Array(members)
            if isSent { queue.enqueueAgain(half) } else { queue.enqueueFirst(half) }
        }
    }

    /// Sends the operations of a merged document one by one, after the server has refused the document for good.
    func sendApart(_ attempt: Attempt) {
        do throws(SpoolError) {
            try settler.sendApart(attempt.members, attempt.destination)
        } catch {
            settler.setAside(attempt.members.map(\.name.id), because: error)
        }
    }

    // MARK: - Answers

    /// Processes an answer: first what it says about the destination, then what becomes of the operations.
    ///
    /// The storm guard may withhold a permanent answer, or one that would hold the destination, until others have been
    /// asked. The operations stay claimed meanwhile; after a crash they are sent again.
    private func take(_ answer: AttemptAnswer) {
        var answer = answer
        let (attempt, verdict, destination) = (answer.attempt, answer.verdict, answer.attempt.destination)
        book.apply(answer, at: world.now())
        // A sample that no server has answered says nothing about the other operations.
        let meaning = StormGuard<AttemptAnswer>.Answer(verdict) ?? (attempt.isSample ? .other : nil)
        if attempt.isProbe, isStillHeld(answer) {
            // The cause of the hold persists: the probed operation is as blameless as the others.
            destination.block = Availability.Block(.held)
            settler.settle(answer, as: verdict.becoming(.held, rule: verdict.rule))
            return
        }
        if attempt.isProbe, verdict.outcome == .failed { book.apply(.disproved, to: destination, at: world.now()) }
        // A deferred probe does not decide, and this pass sends no other one: the hold goes on.
        if attempt.isProbe, verdict.outcome == .deferred { destination.block = Availability.Block(.held) }
        if answer.isRefusal, isProvenGuilty(answer) { return contradict(answer) }
        if verdict.outcome == .held, destination.holdGuard == nil {
            guard meaning != nil else { return hold(destination, answer) }
            beginHoldGuard(of: destination, by: answer.isRefusal ? attempt : nil)
            if answer.isRefusal, attempt.members.count > 1 { askOne(of: &answer) }
        }
        answer.releasesSequence =
            verdict.outcome == .failed && destination.holdGuard == nil && destination.storm.withholds
        if answer.releasesSequence {
            for member in attempt.members { settler.advance(member, after: .failed(countsAttempt: true)) }
        }
        follow(step(for: answer, meaning), destination)
        book.tellIfBlocked(destination)
    }

    /// Whether a probe met the same end that its destination is held for.
    private func isStillHeld(_ probe: AttemptAnswer) -> Bool {
        guard let hold = probe.attempt.destination.state.hold else { return false }
        let status = probe.verdict.status
        return probe.verdict.outcome == .held || status != nil && status == hold.status
    }

    // MARK: - The storm guard

    /// Begins the guard over holding answers. `refused`: the attempt whose credentials were refused, if any.
    private func beginHoldGuard(of destination: RunDestination, by refused: Attempt?) {
        if destination.holdGuard != nil { return }
        destination.holdGuard = StormGuard(threshold: 1)
        destination.refused = refused.map {
            Refused(credentials: $0.maker.credentialNames, began: $0.began, answered: world.now())
        }
    }

    private func step(
        for answer: AttemptAnswer, _ meaning: StormGuard<AttemptAnswer>.Answer?
    ) -> StormGuard<AttemptAnswer>.Step {
        guard var meaning else { return .apply([answer]) }
        let (attempt, destination) = (answer.attempt, answer.attempt.destination)
        if destination.holdGuard == nil {
            return destination.storm.take(answer, meaning, isSample: attempt.isSample)
        }
        if let refused = destination.refused {
            let isOthers = refused.credentials != attempt.maker.credentialNames
            if isOthers || meaning == .delivered && !refused.isContradicted(by: attempt) { meaning = .other }
        }
        return destination.holdGuard!.take(answer, meaning, isSample: attempt.isSample)
    }

    private func follow(_ step: StormGuard<AttemptAnswer>.Step, _ destination: RunDestination) {
        if destination.needsAttention { queue.watch(destination) }
        switch step {
        case .wait: break
        case .sample: beginSampling(destination)
        case .apply(let answers):
            destination.removeEmptyHoldGuard()
            apply(answers)
        case .hold(let answers, let status):
            destination.removeEmptyHoldGuard()
            for answer in answers {
                var verdict = answer.verdict
                if verdict.outcome != .held {
                    let count = answers.count + destination.storm.failed(with: status)
                    verdict = verdict.becoming(.held, rule: .storm(status: status, answers: count))
                }
                hold(destination, answer, as: verdict)
            }
        case .putBack(let answers):
            destination.removeEmptyHoldGuard()
            for answer in answers {
                if answer.isRefusal {
                    conclude(answer)
                    continue
                }
                destination.isAbandoned = true
                settler.settle(answer, as: answer.verdict.becoming(.held, rule: answer.verdict.rule))
            }
        }
    }

    private func apply(_ answers: [AttemptAnswer]) {
        let isContradicted = answers.contains { $0.verdict.outcome == .delivered }
        for var answer in answers {
            answer.isContradicted = isContradicted
            if answer.verdict.outcome != .held {
                settler.settle(answer)
            } else if isContradicted {
                contradict(answer)
            } else {
                conclude(answer)
            }
        }
    }

    /// Sends samples, and nothing else to the destination meanwhile.
    private func beginSampling(_ destination: RunDestination) {
        guard destination.holdGuard != nil else {
            return queue.sample(destination, upTo: StormGuard<AttemptAnswer>.samples) { _ in true }
        }
        // The work that tests a batch is queued already.
        if !destination.urgent.isEmpty { return }
        // One sample shows whether credentials are refused, and a server may count refusals against the client.
        queue.sample(destination, upTo: 1) { candidate in
            guard let refused = destination.refused?.credentials else { return true }
            return sender.maker(of: candidate.entry.name.type, to: destination).credentialNames == refused
        }
    }

    /// Holds the destination of an answer, and puts its operations back, uncharged.
    func hold(_ destination: RunDestination, _ answer: AttemptAnswer, as verdict: Verdict? = nil) {
        let settlements = settler.settle(answer, as: verdict)
        settler.settleDecided()
        book.hold(destination, settlements.first?.record, reason: (verdict ?? answer.verdict).rule)
    }
}
