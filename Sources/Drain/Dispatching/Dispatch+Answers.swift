import Delivery
import Policy
import Spool

/// Judges reports: finds the meaning of each for its operations, and does what the control of the destination
/// (`DestinationControl`) makes of the meaning. Asks `Classification` what a status means.
extension Dispatch {
    /// Begins the storm guards of the chosen operations' destinations.
    func beginStormGuards(for chosen: [Candidate]) {
        var counts: [Digest: Int] = [:]
        for candidate in chosen { counts[candidate.destination.digest, default: 0] += 1 }
        for (digest, count) in counts {
            guard let destination = book.destinations[digest] else { continue }
            destination.control.beginPass(chosen: count, hasMore: !destination.newest.isEmpty)
        }
    }

    /// Applies the withheld answers of destinations where no other operation can be asked. Returns false if there are
    /// none.
    mutating func concludeQuiet() -> Bool {
        let quiet = queue.quietDestinations
        for destination in quiet { conclude(destination) }
        return !quiet.isEmpty
    }

    /// Applies all withheld answers, because this pass asks no other operation.
    mutating func concludeAll() {
        for destination in queue.destinations {
            while destination.control.isWithholding { conclude(destination) }
        }
    }

    private mutating func conclude(_ destination: RunDestination) {
        let prints = book.fingerprints(
            of: destination.identity, sent: destination.control.withheld.first?.attempt.secrets ?? .none)
        obey(destination.control.concludeAlone(prints: prints, at: world.now()), destination)
    }

    // MARK: - Reports

    /// Processes a report: by operation if the answer has a result for each, else for all operations together.
    mutating func process(_ received: AttemptReport, of attempt: Attempt) {
        // Another attempt may have killed the agent. Alone in an agent, each attempt shows whether it does.
        if received.isSuspect {
            attempt.isAfterUnknown = true
            for claim in attempt.claims { claim.noteUnknownEnd() }
            return queue.enqueueAgain(attempt)
        }
        attempt.destination.control.noteReport()
        judge(received, of: attempt)
    }

    /// Judges a report. `hasFreshSecrets`: whether the secrets have changed since; `nil` if that is not known yet.
    mutating func judge(
        _ received: AttemptReport, of attempt: Attempt, hasFreshSecrets: Bool? = nil
    ) {
        let report = SealedReport(received, attempt.redaction)
        let absence = attempt.absence(behind: received, world)
        let meaning = attempt.meaning(of: report, absence, at: world.now())
        if let absence, let error = received.error { conditions.block(for: absence, error) }
        if hasFreshSecrets == nil, meaning.mayNeedFreshSecrets,
            lookUpSecretsAgain(of: attempt, refusedBy: received)
        {
            return
        }
        if hasFreshSecrets == true {
            attempt.hasFreshSecrets = true
            // The same attempt: the refused request had no part in it.
            return queue.enqueueFirst(attempt)
        }
        guard let each = meaning.each else {
            let answer = AttemptAnswer(attempt: attempt, report: report, verdict: meaning.together)
            if attempt.isMerged, meaning.together.outcome == .failed {
                learn(from: answer)
                return sendApart(answer)
            }
            if Batch.isToBeSplit(answer.verdict, members: attempt.members.count) {
                learn(from: answer)
                return split(attempt, refusedBy: answer)
            }
            return decide(answer)
        }
        let origin = attempt.origin ?? SplitBatch()
        let answers = zip(attempt.members, each).map { member, verdict in
            let alone = Attempt(attempt, of: [member])
            (alone.origin, alone.isShared) = (origin, attempt.members.count > 1)
            return AttemptAnswer(attempt: alone, report: report, verdict: verdict)
        }
        settling.receive(answers)
        for answer in answers {
            if attempt.members.count > 1, answer.verdict.outcome == .failed {
                // Another operation may be to blame. None fails for good before an attempt alone.
                learn(from: answer)
                answer.attempt.isShared = attempt.isShared
                answer.attempt.refusal = (answer.report, answer.verdict)
                queue.enqueueAgain(answer.attempt)
            } else {
                decide(answer)
            }
        }
    }

    /// Settles the operations of an attempt for which no request can be made.
    mutating func refuse(_ attempt: Attempt, because error: RequestError) {
        do throws(SpoolError) {
            try decide(error, of: attempt)
        } catch {
            // The end of the run puts the claims back; nothing has been sent.
            settling.setAside(attempt.members.map(\.name.id), because: error)
        }
    }

    /// Processes an error in making a request: the operations are at fault, or the destination has to be held.
    private mutating func decide(_ error: RequestError, of attempt: Attempt) throws(SpoolError) {
        let destination = attempt.destination
        if attempt.members.count > 1, error.outcome == .failed { return split(attempt, refusedBy: nil) }
        if attempt.isMerged, error.outcome == .failed {
            return try sendApart(attempt.members, destination)
        }
        if case .missingOwnSecret = error, !settling.hasSubmitter {
            return withhold(attempt.members, because: error.description)
        }
        if let report = error.report { return process(report, of: attempt) }
        if case .headersCommand = error, !attempt.isProbe {
            // The command or this operation alone may be to blame: sign another operation before the destination is
            // held.
            let report = SealedReport(
                AttemptReport(result: .failure(.other, detail: error.description), duration: .zero), .none)
            let answer = AttemptAnswer(
                attempt: attempt, report: report, verdict: Verdict(outcome: .held, rule: .request(error)))
            answer.isUnsent = true
            let prints = book.fingerprints(of: destination.identity, sent: attempt.secrets)
            return obey(destination.control.doubt(answer, prints: prints, at: world.now()), destination)
        }
        var error = error
        if case .noCredentials(let reason, .zero) = error {
            error = .noCredentials(reason: reason, for: attempt.maker.delayOfNextSignature())
        }
        let settlement = Settlement.decide(on: error, now: world.now())
        for member in attempt.members { try settleUnsent(member, settlement, attempt) }
        // Not charged, and told all the same: nothing is delivered to the destination.
        if error.outcome == .deferred {
            let now = world.now()
            let missed = Incident(since: now, last: now, cause: Cause(settlement.record))
            destination.control.apply(.missed(missed), at: now)
        }
        if error.outcome == .held {
            book.hold(destination, settlement.record, reason: settlement.rule, began: attempt.began)
        }
    }

    /// Settles an attempt cut off by the end of the run, uncharged: the outcome is unknown, and the next run decides.
    mutating func settleCutOff(_ attempt: Attempt) {
        let result = AttemptReport.Result.failure(.cancelled, detail: "cut off by the end of the run")
        let report = SealedReport(
            AttemptReport(result: result, duration: max(.zero, world.now() - attempt.began)), attempt.redaction)
        let verdict = Classification.verdict(on: report, route: attempt.maker.route, now: world.now())
        let answer = AttemptAnswer(attempt: attempt, report: report, verdict: verdict)
        let now = world.now()
        if let missed = Incident(answer, at: now) { attempt.destination.control.apply(.missed(missed), at: now) }
        settle(answer)
    }

    /// Sends each half of a refused batch, uncharged. Repeated, this isolates the refused operation. `answer` is `nil`
    /// if the batch was not sent; otherwise its halves have the next attempt number.
    private mutating func split(_ attempt: Attempt, refusedBy answer: AttemptAnswer?) {
        let middle = attempt.members.count / 2
        let origin = attempt.origin ?? SplitBatch()
        for members in [attempt.members[..<middle], attempt.members[middle...]] {
            let half = Attempt(attempt, of: Array(members))
            half.origin = origin
            guard let answer else {
                queue.enqueueFirst(half)
                continue
            }
            half.refusal = (answer.report, answer.verdict)
            queue.enqueueAgain(half)
        }
    }

    /// Settles operations of a refused batch that this pass does not isolate any more. They are due at once, and their
    /// records say that they have to go alone.
    mutating func settleRefused(_ attempt: Attempt) {
        guard let refusal = attempt.refusal else { return }
        attempt.isShared = true
        settle(AttemptAnswer(attempt: attempt, report: refusal.report, verdict: refusal.verdict))
    }

    /// Takes in what the refusal of several operations says about their destination.
    private func learn(from answer: AttemptAnswer) {
        let destination = answer.attempt.destination
        let prints = book.fingerprints(of: destination.identity, sent: answer.attempt.secrets)
        destination.control.learn(from: answer, prints, at: world.now())
    }

    /// Sends the operations of a merged document singly, after the server has refused the document for good. The file
    /// of the newest records the refusal, so no later run merges the operation again.
    private mutating func sendApart(_ answer: AttemptAnswer) {
        let attempt = answer.attempt
        attempt.isShared = true
        do throws(SpoolError) {
            try sendApart(attempt.members, attempt.destination, refusedBy: answer)
        } catch {
            settling.setAside(attempt.members.map(\.name.id), because: error)
        }
    }

    // MARK: - Answers

    private mutating func decide(_ answer: AttemptAnswer) {
        if let origin = answer.attempt.origin {
            origin.hasDelivered = origin.hasDelivered || answer.verdict.outcome == .delivered
            answer.isContradicted = origin.hasDelivered && answer.attempt.members.count == 1
        }
        let destination = answer.attempt.destination
        let prints = book.fingerprints(of: destination.identity, sent: answer.attempt.secrets)
        let effects = destination.control.take(answer, prints: prints, at: world.now())
        // The file of a delivered probe goes after the end of the hold is recorded: no recovery could tell of it then.
        if answer.attempt.isProbe, answer.verdict.outcome == .delivered { book.tell() }
        obey(effects, destination)
        if book.mustTell(destination) {
            // Synced first: another process may have the lock of the ledger for long.
            settling.syncOrEndRun()
            book.tell()
        }
    }

    /// Does what the control of a destination has decided, in order.
    private mutating func obey(
        _ effects: [DestinationEffect], _ destination: RunDestination
    ) {
        if !destination.control.isSampling { queue.putBackSamples(of: destination) }
        if destination.needsAttention { queue.watch(destination) }
        for effect in effects {
            switch effect {
            case .settle(let answer, let verdict): settle(answer, as: verdict)
            case .hold(let answer, let verdict): hold(destination, answer, as: verdict)
            case .park(let answer, let refusals): park(answer, refusals, destination)
            case .withhold(let answer):
                withhold(answer.attempt.members, because: answer.verdict.rule.description)
            case .sendEachAlone(let answer):
                sendEachAlone(answer.attempt, witnessed: answer.isContradicted ? answer.facts.credentials : nil)
            case .sendApart(let answer): sendApart(answer)
            case .askOne(let answer): askOne(of: answer, destination)
            case .release(let answer):
                for (member, settlement) in zip(answer.attempt.members, settling.release(answer)) {
                    advance(member, after: settlement.disposition)
                }
            case .sample(let count): queue.sample(destination, upTo: count) { _ in true }
            case .sampleOne(let refused): sampleOne(destination, like: refused?.attempt)
            }
        }
    }

    /// Settles each operation of an attempt by the answer's verdict, or by `verdict` if given. Then lets its sequence
    /// go on or not.
    ///
    /// An operation whose sequence has gone on keeps its own verdict if one behind it is in flight or may have had an
    /// effect: it must not be sent after that one.
    @discardableResult
    private mutating func settle(
        _ answer: AttemptAnswer, as verdict: Verdict? = nil
    ) -> [Settlement] {
        let isOvertaken =
            answer.releasesSequence
            && answer.attempt.members.contains { isInFlight($0.sequence) || settling.isOvertaken($0.name.id) }
        let settlements = settling.settle(answer, as: isOvertaken ? answer.verdict : verdict)
        if answer.releasesSequence { return settlements }
        for (member, settlement) in zip(answer.attempt.members, settlements) {
            advance(member, after: settlement.disposition)
        }
        return settlements
    }

    /// Holds the destination of an answer, and puts its operations back, uncharged.
    private mutating func hold(
        _ destination: RunDestination, _ answer: AttemptAnswer, as verdict: Verdict
    ) {
        let settlements = settle(answer, as: verdict)
        settling.settleDecided()
        let attempt = answer.attempt
        // What this run has parked waits for the end of the hold now.
        settling.operations.deferred.subtract(destination.control.state.parking.entries.map(\.operation))
        book.hold(
            destination, settlements.first?.record, reason: verdict.rule, sent: attempt.secrets, began: attempt.began)
    }

    private func isInFlight(_ sequence: SequenceKey?) -> Bool {
        inFlight.values.contains { $0.members.contains { $0.sequence != nil && $0.sequence == sequence } }
    }

    private mutating func park(
        _ answer: AttemptAnswer, _ refusals: [Parking.Refusal], _ destination: RunDestination
    ) {
        // The submitter of a refused operation is told; its refusal counts for the next operation all the same.
        let verdict = answer.verdict
        let settlements = settle(
            answer,
            as: settling.hasSubmitter
                ? verdict.becoming(.failed, rule: .refusedAlone(verdict.rule))
                : verdict.becoming(.held, rule: .parked(verdict.rule)))
        for (refusal, settlement) in zip(refusals, settlements) {
            settling.park(refusal, destination, settlement.record)
        }
    }

    private mutating func sendEachAlone(_ attempt: Attempt, witnessed: RequestCredentials?) {
        for member in attempt.members {
            let alone = Attempt(attempt, of: [member])
            (alone.isShared, alone.isSample, alone.witnessed) = (false, false, witnessed)
            queue.enqueueAgain(alone)
        }
    }

    /// Removes one operation from a refused batch and sends it alone, as a witness for the others.
    private mutating func askOne(
        of answer: AttemptAnswer, _ destination: RunDestination
    ) {
        let members = answer.attempt.members
        let alone = Attempt(answer.attempt, of: Array(members.suffix(1)))
        let rest = Attempt(answer.attempt, of: Array(members.dropLast()))
        (alone.isShared, alone.isSample) = (false, true)
        rest.isShared = true
        queue.enqueueAgain(alone)
        let answer = AttemptAnswer(attempt: rest, report: answer.report, verdict: answer.verdict)
        let prints = book.fingerprints(of: destination.identity, sent: answer.attempt.secrets)
        obey(destination.control.judge(answer, prints: prints, at: world.now()), destination)
    }

    /// Sends one other operation with the credentials of this attempt, and nothing else to the destination meanwhile.
    /// An operation that turns out to have credentials of its own says nothing.
    private mutating func sampleOne(_ destination: RunDestination, like refused: Attempt?) {
        // The work that tests a batch is queued already.
        if !destination.urgent.isEmpty { return }
        let book = book
        queue.sample(destination, upTo: 1) { candidate in
            guard let names = refused?.maker.credentialNames else { return true }
            return book.maker(of: candidate.entry.name.type, to: destination).credentialNames == names
        }
    }
}
