import Delivery
import Policy
import Spool

extension Run {
    /// Takes a report in, for each operation by itself where the answer speaks of each, else for all together.
    func take(_ received: AttemptReport, of flight: Flight, _ round: inout Round, _ claims: SpoolRun) {
        // Another attempt may have killed the agent. Alone in one, each shows what it does.
        if received.isSuspect { return sendAgain(flight) }
        flight.lane.hasBeenHeard = true
        flight.lane.isCautious = false
        let report = SealedReport(received, flight.redaction)
        let (count, now, longest) = (flight.members.count, world.now(), flight.lane.settings.retryAfterMax)
        var together = Classification.verdict(on: report, route: flight.route, now: now, retryAfterMax: longest)
        if let absence = absence(behind: received, of: flight.lane), let error = received.error {
            together = together.excused(by: absence, route: flight.route)
            close(for: absence, error)
        }
        let each = flight.route.batch?.verdicts(
            on: report, members: flight.members.map(\.operation.header.id), route: flight.route, now: now,
            retryAfterMax: longest)
        if (each ?? [together]).allSatisfy(\.isUnauthenticated), hasOtherSecrets(for: flight) {
            var again = flight
            again.hasFreshSecrets = true
            return sendAgain(again)
        }
        guard let each else {
            if flight.isMerged, together.outcome == .failed { return unmerge(flight, &round, claims) }
            if Batch.isToBeSplit(together, members: count) { return split(flight) }
            return take(Withheld(flight: flight, report: report, verdict: together), &round, claims)
        }
        for (member, verdict) in zip(flight.members, each) {
            var alone = flight
            alone.members = [member]
            if count > 1, verdict.outcome == .failed {
                // Another member may be to blame: none fails for good before it was alone.
                sendNext(alone)
                continue
            }
            alone.isShared = count > 1
            take(Withheld(flight: alone, report: report, verdict: verdict), &round, claims)
        }
    }

    /// Sends a request once more in this run, alone and under the next attempt number, without a charge.
    func sendAgain(_ flight: Flight) {
        var again = flight
        again.uncharged += 1
        sendNext(again)
    }

    /// Takes an answer in: what it says of the destination first, then what becomes of the operations.
    ///
    /// A permanent answer, or one that would hold the destination, may wait until others have been asked (`StormGuard`);
    /// its operations stay claimed meanwhile, and a crash sends them again.
    private func take(_ answer: Withheld, _ round: inout Round, _ claims: SpoolRun) {
        var answer = answer
        let (flight, report, verdict, now) = (answer.flight, answer.report, answer.verdict, world.now())
        let lane = flight.lane
        let events = DestinationEvent.events(
            of: report, verdict, route: flight.route, settings: lane.settings, blamed: nil, now: now)
        for event in events {
            // Whether it is to be held is decided further down, when others have been asked.
            if case .held = event { continue }
            // What was in flight when the hold began proves nothing against it: only a probe does.
            if event == .delivered, lane.block?.reason == .held, !flight.isProbe { continue }
            book.note(event, in: lane, at: now)
            if event == .delivered { witness(flight, now) }
        }
        // A sample that no server has answered says nothing of the others.
        let meaning = StormGuard<Withheld>.Answer(verdict) ?? (flight.isSample ? .other : nil)
        let status = verdict.status
        if let hold = lane.state.hold, flight.isProbe,
            verdict.outcome == .held || status != nil && status == hold.status
        {
            // The same end as before: the operation that was asked is as blameless as the others.
            lane.block = Availability.Block(.held)
            settle(answer, as: verdict.becoming(.held, rule: verdict.rule), &round, claims)
            return
        }
        if flight.isProbe, verdict.outcome == .failed { book.note(.disproved, in: lane, at: now) }
        // One that says neither yes nor no was the only one: the hold goes on.
        if flight.isProbe, verdict.outcome == .deferred { lane.block = Availability.Block(.held) }
        let isRefusal = verdict.accused() == .credentials && status != nil
        if isRefusal, isProvenGuilty(answer) { return contradict(answer, &round, claims) }
        if verdict.outcome == .held, lane.suspicion == nil {
            guard meaning != nil else { return hold(lane, answer, &round, claims) }
            lane.suspicion = StormGuard(threshold: 1)
            lane.suspectedCredentials = isRefusal ? flight.maker.credentialNames : nil
            if isRefusal, flight.members.count > 1 { askOne(of: &answer) }
        }
        answer.letsOthersGo = verdict.outcome == .failed && lane.suspicion == nil && lane.storm.withholds
        if answer.letsOthersGo {
            for member in flight.members { goOn(member, after: .failed(countsAttempt: true), &round) }
        }
        let step: StormGuard<Withheld>.Step
        if var meaning, lane.suspicion != nil {
            // What another route's credentials meet is no witness.
            if let suspected = lane.suspectedCredentials, suspected != flight.maker.credentialNames { meaning = .other }
            step = lane.suspicion!.take(answer, meaning, isSample: flight.isSample)
        } else if let meaning {
            step = lane.storm.take(answer, meaning, isSample: flight.isSample)
        } else {
            step = .settle([answer])
        }
        follow(step, lane, &round, claims)
        // Others are to know at once what keeps everybody away; where that happens to thousands, soon.
        if lane.isClosed, !lane.events.isEmpty, .now >= book.pauseEnd { book.tell() }
    }

    /// Settles what has been waiting for others to be asked, where there is nobody else to ask; whether there was any.
    func concludeSuspicions(_ round: inout Round, _ claims: SpoolRun) -> Bool {
        var concluded = false
        for digest in unusual {
            guard let lane = book.lanes[digest], !lane.withheld.isEmpty, lane.isQuiet else { continue }
            guard lane.isSampling || round.isEmpty(of: lane) || lane.isClosed else { continue }
            concluded = true
            let step = lane.suspicion?.nothingElse() ?? lane.storm.nothingElse()
            follow(step, lane, &round, claims)
        }
        return concluded
    }

    private func follow(
        _ step: StormGuard<Withheld>.Step, _ lane: Lane, _ round: inout Round, _ claims: SpoolRun
    ) {
        if lane.isUnusual { unusual.insert(lane.destination.digest) }
        switch step {
        case .wait: break
        case .sample: beginSampling(lane, &round)
        case .settle(let answers):
            let isContradicted = answers.contains { $0.verdict.outcome == .delivered }
            lane.forgetSettledSuspicion()
            for var answer in answers {
                let verdict = answer.verdict
                answer.isContradicted = isContradicted
                if verdict.outcome != .held {
                    settle(answer, &round, claims)
                } else if isContradicted {
                    contradict(answer, &round, claims)
                } else {
                    conclude(answer, &round, claims)
                }
            }
        case .hold(let answers, let status):
            lane.forgetSettledSuspicion()
            for answer in answers {
                var verdict = answer.verdict
                if verdict.outcome != .held {
                    let count = answers.count + lane.storm.failed(with: status)
                    verdict = verdict.becoming(.held, rule: .storm(status: status, answers: count))
                }
                hold(lane, answer, as: verdict, &round, claims)
            }
        case .putBack(let answers):
            lane.forgetSettledSuspicion()
            for answer in answers {
                if answer.isRefusal {
                    conclude(answer, &round, claims)
                    continue
                }
                lane.isLeft = true
                settle(answer, as: answer.verdict.becoming(.held, rule: answer.verdict.rule), &round, claims)
            }
        }
    }

    /// Others are to be asked, the newest first, and meanwhile nothing else of the destination goes out. One that turns
    /// out not to be needed has its turn all the same.
    private func beginSampling(_ lane: Lane, _ round: inout Round) {
        // What is to be asked of a batch is there already.
        if !lane.urgent.isEmpty, lane.suspicion != nil { return }
        // One is enough to see whether credentials are refused, and refusals are counted by those who are guarding.
        let wanted = lane.suspicion == nil ? StormGuard<Withheld>.samples : 1
        // An operation beyond the chosen is of no sequence, or the head of one that nothing was chosen of.
        var samples = Array(
            lane.newest.filter { candidate in
                guard let suspected = lane.suspectedCredentials, lane.suspicion != nil else { return true }
                return maker(of: candidate.entry.name.type, to: lane).credentialNames == suspected
            }.prefix(wanted))
        let names = Set(samples.map(\.entry.name))
        lane.newest.removeAll { names.contains($0.entry.name) }
        samples += round.newest(of: lane, upTo: wanted - samples.count)
        lane.urgent += samples.map(Work.sample)
        unusual.insert(lane.destination.digest)
    }

    // MARK: - Holds

    /// Holds the destination of an answer, whose operations are put back blameless.
    func hold(
        _ lane: Lane, _ answer: Withheld, as verdict: Verdict? = nil, _ round: inout Round, _ claims: SpoolRun
    ) {
        let verdict = verdict ?? answer.verdict
        let settlements = settle(answer, as: verdict, &round, claims)
        book.hold(lane, settlements.first?.record, reason: verdict.rule)
    }

    /// No request can be made of these: the operation's own fault, or a reason to hold its destination.
    func giveUp(_ flight: Flight, _ error: RequestError, _ round: inout Round, _ claims: SpoolRun) throws(SpoolError) {
        if flight.members.count > 1, error.outcome == .failed { return split(flight) }
        if flight.isMerged, error.outcome == .failed {
            return try sendApart(flight.members, flight.lane, &round, claims)
        }
        if case .headersCommand = error, !flight.isProbe {
            // The command may be to blame, or this operation alone: another one is to be signed before all are held.
            let report = SealedReport(
                AttemptReport(result: .failure(.other, detail: error.description), duration: .zero), .none)
            var answer = Withheld(
                flight: flight, report: report, verdict: Verdict(outcome: .held, rule: .request(error)))
            answer.isUnsent = true
            let lane = flight.lane
            if lane.suspicion == nil { (lane.suspicion, lane.suspectedCredentials) = (StormGuard(threshold: 1), nil) }
            let step = lane.suspicion!.take(answer, .permanent(0), isSample: flight.isSample)
            return follow(step, lane, &round, claims)
        }
        let settlement = Settlement.decide(on: error, now: world.now())
        for member in flight.members {
            try apply(settlement, member, flight, claims, sent: false)
            goOn(member, after: settlement.disposition, &round)
        }
        if error.outcome == .held {
            book.hold(flight.lane, settlement.record, reason: settlement.rule)
        }
    }

    /// A batch that was refused for good has a bad one in it: its halves are tried, down to the one, none charged.
    private func split(_ flight: Flight) {
        let middle = flight.members.count / 2
        let halves = [flight.members[..<middle], flight.members[middle...]]
        for members in halves {
            var half = flight
            half.members = Array(members)
            sendNext(half)
        }
    }

    /// Sends operations that are claimed before anything else of their destination, and by themselves.
    private func sendNext(_ flight: Flight) {
        flight.lane.urgent.append(.claimed(flight))
        unusual.insert(flight.lane.destination.digest)
    }

    /// After a 401: whether there are other secrets than those that it was sent with. Fresh ones that were refused, too,
    /// are not asked for again for a while.
    private func hasOtherSecrets(for flight: Flight) -> Bool {
        if flight.hasFreshSecrets {
            flight.lane.refusedFreshSecrets = .now
            return false
        }
        if let last = flight.lane.refusedFreshSecrets, .now < last + SecretStore.pauseOfCommands { return false }
        return !flight.secrets.values.isEmpty && world.credentials.refresh(flight.secrets)
    }

    // MARK: - Operations

    /// Settles each operation of a flight by its verdict.
    @discardableResult
    func settle(
        _ answer: Withheld, as verdict: Verdict? = nil, _ round: inout Round, _ claims: SpoolRun
    ) -> [Settlement] {
        let now = world.now()
        let flight = answer.flight
        let report = answer.report
        let shared = SharedChance(using: &world.generator)
        return flight.members.map { member in
            var chance = shared
            var settlement = Settlement.decide(
                on: report, verdict: verdict ?? answer.verdict, of: member.operation, name: member.claim.name,
                route: flight.route, inBatch: flight.isShared || flight.members.count > 1,
                keepsDelivered: configuration.retention.delivered > .zero, start: flight.began,
                now: now, using: &chance)
            if answer.isUnsent { settlement.record.error = nil }
            do throws(SpoolError) {
                if case .failed = settlement.disposition, try isOutdated(member, flight.route) {
                    settlement.disposition = .superseded
                }
                try settleMerged(member, settlement, flight, claims)
                try apply(settlement, member, flight, claims, sent: !answer.isUnsent)
                if case .failed = settlement.disposition, answer.verdict.outcome == .failed,
                    !answer.isContradicted, let status = answer.verdict.status
                {
                    book.note(.failed(status: status), in: flight.lane, at: now)
                }
            } catch {
                setAside.insert(member.claim.name.id)
                if error.isFullDisk, error.kind == .io {
                    tally.inputOutput(error)
                    makeRoom(for: member, claims)
                } else {
                    tally.broken(error)
                }
            }
            if !answer.letsOthersGo { goOn(member, after: settlement.disposition, &round) }
            return settlement
        }
    }

    /// Row C → N or D: puts back an operation whose new name finds no room, so that claims do not fill the run's directory and
    /// keep others from being sent. Where its old name finds none either it is put back when the run ends.
    private func makeRoom(for member: Member, _ claims: SpoolRun) {
        do throws(SpoolError) {
            _ = try claims.settle(member.claim, .putBack, record: nil, now: world.now())
        } catch {
            if !error.isFullDisk { tally.broken(error) }
        }
    }

    /// Whether a newer value of its key has come while it was in flight: it must not come back out of `failed/` one day.
    private func isOutdated(_ member: Member, _ route: Route) throws(SpoolError) -> Bool {
        guard route.replacesOlder else { return false }
        return try newestValues.hasNewer(than: member.claim.name, in: spool)
    }

    /// Lets the next of its sequence go, unless this one still waits.
    func goOn(_ member: Member, after disposition: Disposition, _ round: inout Round) {
        guard let sequence = member.sequence else { return }
        let continues =
            switch disposition {
            case .failed: !configuration.route(of: member.claim.name.type).holdsBehindFailed
            case .delivered, .superseded, .quarantined: true
            case .deferred, .putBack, .held: false
            }
        if continues { flushPace.ended(in: sequence) }
        round.order.settled(sequence, continues: continues)
    }

    func leave(_ sequence: SequenceKey?, _ round: inout Round) {
        if let sequence { round.order.settled(sequence, continues: false) }
    }

    /// Does to the file what was decided, then counts and reports it.
    func apply(
        _ settlement: Settlement, _ member: Member, _ flight: Flight, _ claims: SpoolRun, sent: Bool
    ) throws(SpoolError) {
        let disposition = settlement.disposition
        let settled = try claims.settle(
            member.claim, disposition, record: settlement.isRecorded ? settlement.record : nil, now: world.now())
        flushPace.settled()
        let header = member.operation.header
        waiting.remove(header.id)
        if disposition != .putBack { book.unpark(header.id, flight.lane) }
        switch disposition {
        case .delivered: tally.summary.delivered += 1
        case .deferred: waiting.insert(header.id)
        case .failed:
            tally.summary.failed += 1
            if case .expired = settlement.rule { tally.summary.expired += 1 }
        case .held: tally.summary.ambiguous += 1
        case .superseded: tally.summary.superseded += 1
        case .putBack, .quarantined: break
        }
        if disposition != .putBack { flight.lane.done += 1 }
        let event = AttemptEvent(
            id: header.id, type: header.type, destination: flight.lane.destination.name, settlement: settlement,
            attempts: member.claim.name.attempts + (disposition.countsAttempt ? 1 : 0),
            attemptsAllowed: flight.route.retry.attemptsAllowed)
        if case .quarantined(let item) = settled { tally.quarantined(item) }
        tally.tell(sent ? .attempted(event) : .gaveUp(event))
    }
}

extension AttemptReport {
    /// The answer's body; nothing where there was no answer.
    var body: [UInt8] {
        if case .answer(let answer) = result { answer.body } else { [] }
    }
}

extension Disposition {
    /// Whether this was an attempt: a request was sent, and the server did not merely ask for time.
    fileprivate var countsAttempt: Bool {
        switch self {
        case .delivered: true
        case .deferred(_, let counts), .failed(let counts): counts
        case .putBack, .held, .superseded, .quarantined: false
        }
    }
}
