import Delivery
import Policy
import Spool

/// The judge of reports: finds the meaning of each for its operations, and does what the control of the destination
/// (`DestinationControl`) makes of the meaning. Asks `Classification` what a status means.
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

    /// Begins the storm guards of the chosen operations' destinations.
    func beginStormGuards(for chosen: [Candidate]) {
        if settler.hasSubmitter { return }
        var counts: [Digest: Int] = [:]
        for candidate in chosen { counts[candidate.destination.digest, default: 0] += 1 }
        for (digest, count) in counts {
            guard let destination = book.destinations[digest] else { continue }
            destination.control.beginPass(chosen: count, hasMore: !destination.newest.isEmpty)
        }
    }

    /// Applies the withheld answers of destinations where no other operation can be asked. Returns false if there are
    /// none.
    func concludeQuiet() -> Bool {
        let quiet = queue.quietDestinations
        for destination in quiet {
            let blamed = blamed(destination)
            obey(destination.control.nothingElse(blamed: blamed, at: world.now()), destination)
        }
        return !quiet.isEmpty
    }

    // MARK: - Reports

    /// Processes a report: by operation if the answer has a result for each, else for all operations together.
    func take(_ received: AttemptReport, of attempt: Attempt) {
        // Another attempt may have killed the agent. Alone in an agent, each attempt shows whether it does.
        if received.isSuspect { return queue.enqueueAgain(attempt) }
        attempt.destination.control.noteReport()
        let report = SealedReport(received, attempt.redaction)
        let absence = attempt.absence(behind: received, world)
        let meaning = attempt.meaning(of: report, absence, at: world.now())
        if let absence, let error = received.error { conditions.block(for: absence, error) }
        if meaning.mayNeedFreshSecrets, refreshesSecrets(of: attempt) {
            var again = attempt
            again.hasFreshSecrets = true
            // The same attempt: the refused request had no part in it.
            return queue.enqueueFirst(again)
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
            // The command or this operation alone may be to blame: sign another operation before the destination is
            // held.
            let report = SealedReport(
                AttemptReport(result: .failure(.other, detail: error.description), duration: .zero), .none)
            var answer = AttemptAnswer(
                attempt: attempt, report: report, verdict: Verdict(outcome: .held, rule: .request(error)))
            answer.isUnsent = true
            let blamed = blamed(destination)
            return obey(destination.control.doubt(answer, blamed: blamed, at: world.now()), destination)
        }
        let settlement = Settlement.decide(on: error, now: world.now())
        for member in attempt.members { try settler.settleUnsent(member, settlement, attempt) }
        if error.outcome == .held { book.hold(destination, settlement.record, reason: settlement.rule) }
    }

    /// Settles an attempt cut off by the end of the run, uncharged: the outcome is unknown, and the next run decides.
    func takeCutOff(_ attempt: Attempt) {
        let result = AttemptReport.Result.failure(.cancelled, detail: "cut off by the end of the run")
        let report = SealedReport(
            AttemptReport(result: result, duration: max(.zero, world.now() - attempt.began)), attempt.redaction)
        let verdict = Classification.verdict(on: report, route: attempt.route, now: world.now())
        settler.settle(AttemptAnswer(attempt: attempt, report: report, verdict: verdict))
    }

    /// Looks up the secrets of an attempt again after a 401. Returns whether they differ from the secrets sent. After a
    /// refusal of fresh secrets, does not look them up for `SecretStore.commandRetryInterval`.
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

    /// Sends each half of a refused batch, uncharged. Repeated, this isolates the refused operation. `isSent`: whether
    /// the batch was sent, and its halves have the next attempt number.
    private func split(_ attempt: Attempt, isSent: Bool) {
        let middle = attempt.members.count / 2
        for members in [attempt.members[..<middle], attempt.members[middle...]] {
            var half = attempt
            half.members = Array(members)
            if isSent { queue.enqueueAgain(half) } else { queue.enqueueFirst(half) }
        }
    }

    /// Sends the operations of a merged document singly, after the server has refused the document for good.
    func sendApart(_ attempt: Attempt) {
        do throws(SpoolError) {
            try settler.sendApart(attempt.members, attempt.destination)
        } catch {
            settler.setAside(attempt.members.map(\.name.id), because: error)
        }
    }

    // MARK: - Answers

    private func take(_ answer: AttemptAnswer) {
        let destination = answer.attempt.destination
        let blamed = blamed(destination)
        obey(destination.control.take(answer, blamed: blamed, at: world.now()), destination)
        if book.mustTell(destination) {
            // Synced first: another process may have the lock of the ledger for long.
            settler.syncOrEndRun()
            book.tell()
        }
    }

    /// Returns a function that finds what a hold of the destination would be blamed on.
    private func blamed(_ destination: RunDestination) -> () -> String {
        let identity = destination.identity
        return { [book] in book.fingerprint(of: identity) }
    }

    /// Does what the control of a destination has decided, in order.
    private func obey(_ effects: [DestinationEffect<Attempt>], _ destination: RunDestination) {
        if destination.needsAttention { queue.watch(destination) }
        for effect in effects {
            switch effect {
            case .settle(let answer, let verdict): settler.settle(answer, as: verdict)
            case .hold(let answer, let verdict): hold(destination, answer, as: verdict)
            case .park(let answer, let refusals): park(answer, refusals, destination)
            case .sendEachAlone(let answer): sendEachAlone(answer.attempt)
            case .sendApart(let answer): sendApart(answer.attempt)
            case .askOne(let answer): askOne(of: answer, destination)
            case .release(let answer):
                for member in answer.attempt.members {
                    settler.advance(member, after: .failed(countsAttempt: true))
                }
            case .sample(let count): queue.sample(destination, upTo: count) { _ in true }
            case .sampleOne(let credentials): sampleOne(destination, with: credentials)
            case .reportHoldEnd: book.tellHoldEnd(of: destination)
            }
        }
    }

    /// Holds the destination of an answer, and puts its operations back, uncharged.
    private func hold(_ destination: RunDestination, _ answer: AttemptAnswer, as verdict: Verdict) {
        let settlements = settler.settle(answer, as: verdict)
        settler.settleDecided()
        book.hold(destination, settlements.first?.record, reason: verdict.rule)
    }

    private func park(_ answer: AttemptAnswer, _ refusals: [Parking.Refusal], _ destination: RunDestination) {
        // The submitter of a refused operation is told; its refusal counts for the next operation all the same.
        let verdict = answer.verdict
        let settlements = settler.settle(
            answer,
            as: settler.hasSubmitter
                ? verdict.becoming(.failed, rule: .refusedAlone(verdict.rule))
                : verdict.becoming(.held, rule: .parked(verdict.rule)))
        for (refusal, settlement) in zip(refusals, settlements) {
            settler.park(refusal, destination, settlement.record)
        }
    }

    private func sendEachAlone(_ attempt: Attempt) {
        for member in attempt.members {
            var alone = attempt
            (alone.members, alone.isShared, alone.isSample, alone.isWitnessed) = ([member], false, false, true)
            queue.enqueueAgain(alone)
        }
    }

    /// Removes one operation from a refused batch and sends it alone, as a witness for the others.
    private func askOne(of answer: AttemptAnswer, _ destination: RunDestination) {
        var (alone, rest) = (answer.attempt, answer.attempt)
        alone.members = [rest.members.removeLast()]
        (alone.isShared, alone.isSample) = (false, true)
        rest.isShared = true
        queue.enqueueAgain(alone)
        let answer = AttemptAnswer(attempt: rest, report: answer.report, verdict: answer.verdict)
        let blamed = blamed(destination)
        obey(destination.control.judge(answer, blamed: blamed, at: world.now()), destination)
    }

    /// Sends one other operation with these credentials, and nothing else to the destination meanwhile.
    private func sampleOne(_ destination: RunDestination, with credentials: String?) {
        // The work that tests a batch is queued already.
        if !destination.urgent.isEmpty { return }
        queue.sample(destination, upTo: 1) { candidate in
            guard let credentials else { return true }
            return sender.maker(of: candidate.entry.name.type, to: destination).credentialNames == credentials
        }
    }
}
