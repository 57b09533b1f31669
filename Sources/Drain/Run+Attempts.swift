import Delivery
import Policy
import Spool

extension Run {
    /// Attempts the chosen in order, up to `concurrency` at once; returns when nothing is in flight any more, with how
    /// many operations were begun.
    ///
    /// Each is claimed just before its request is submitted, so several runs share one queue. After a crash in here the
    /// claims of this run are returned by the next one; whether their requests arrived is unknown (window W1).
    func attempt(_ chosen: [Candidate], _ claims: SpoolRun) -> Int {
        tally.summary.timeSpent.begin(.claiming)
        defer { tally.summary.timeSpent.begin(.choosing) }
        var round = Round(concurrency: options.concurrency)
        watchForStorms(chosen)
        for candidate in inOrder(chosen) { round.append(candidate, of: lane(of: candidate)) }
        while true {
            if round.graceEnd == nil, mustStop() {
                round.graceEnd = .now + options.grace
                if case .signal = tally.summary.end, !round.flying.isEmpty {
                    tally.tell(.stopping(inFlight: round.flying.count, grace: options.grace))
                }
            }
            // What is in flight is somebody else's to settle.
            if tally.hasLostHold { round.graceEnd = .now }
            var pause: Duration?
            if round.graceEnd == nil { pause = begin(&round, claims) }
            if tally.summary.end != .done, round.graceEnd == nil { continue }
            if round.graceEnd == nil, concludeSuspicions(&round, claims) { continue }
            if round.flying.isEmpty {
                if round.graceEnd == nil {
                    if let pause {
                        flush(claims)
                        tally.summary.timeSpent.begin(.waiting)
                        Interruption.sleep(until: min(.now + pause, pollDeadline(nil)))
                        tally.summary.timeSpent.begin(.claiming)
                        continue
                    }
                }
                break
            }
            wait(pause, &round, claims)
            if let end = round.graceEnd, .now >= end || Interruption.received.count > 1 {
                cutOff(round.flying.values.sorted { $0.began < $1.began }, &round, claims)
                break
            }
        }
        putBackLeftovers(&round, claims)
        book.tell()
        return round.begun
    }

    func lane(of candidate: Candidate) -> Lane { book.lanes[candidate.destination.digest]! }

    func maker(of type: TypeName, to lane: Lane) -> RequestMaker {
        if let maker = lane.makers[type] { return maker }
        let maker = RequestMaker(configuration.route(of: type), lane.settings, world)
        lane.makers[type] = maker
        return maker
    }

    /// Each destination's first answers of this pass are watched, and what the runs before have failed counts on. Where more is due than a small limit lets go, fewer are
    /// enough: else a limit of three would fail a whole queue, three by three.
    private func watchForStorms(_ chosen: [Candidate]) {
        var counts: [Digest: Int] = [:]
        for candidate in chosen { counts[candidate.destination.digest, default: 0] += 1 }
        for (digest, count) in counts {
            guard let lane = book.lanes[digest] else { continue }
            let threshold = lane.settings.stormGuard
            lane.storm = StormGuard(
                threshold: lane.newest.isEmpty ? threshold : min(threshold, count), limit: threshold,
                before: lane.state.storm)
        }
    }

    /// Oldest first; but a held destination is asked with its newest operation, which did not bring it into this.
    private func inOrder(_ chosen: [Candidate]) -> [Candidate] {
        var order = chosen
        for (digest, lane) in book.lanes where lane.isProbing && lane.state.hold != nil {
            guard let last = order.lastIndex(where: { $0.destination.digest == digest && $0.isHead }) else { continue }
            if let newer = lane.newest.first {
                lane.newest.removeFirst()
                order.insert(newer, at: 0)
            } else {
                order.insert(order.remove(at: last), at: 0)
            }
        }
        return order
    }

    /// Whether no more is to be claimed: a signal, the time, or a queue that cannot be trusted with another outcome.
    func mustStop() -> Bool {
        listenToPeople()
        if tally.summary.end != .done { return true }
        if let maxTime = options.maxTime, .now >= started + maxTime {
            tally.summary.end = .timeUp
            return true
        }
        return tally.interrupted()
    }

    /// The sink is asked again at least when something else than a report has to be noticed.
    private func pollDeadline(_ graceEnd: ContinuousClock.Instant?) -> ContinuousClock.Instant {
        // In the grace time a second signal is looked for ten times a second: the first has used up the wake-up.
        if let graceEnd { return min(graceEnd, .now + .milliseconds(100)) }
        if let maxTime = options.maxTime { return started + maxTime }
        return .now + .seconds(60)
    }

    private func wait(_ pause: Duration?, _ round: inout Round, _ claims: SpoolRun) {
        guard let sink else { return }
        defer { tally.summary.timeSpent.begin(.claiming) }
        // While servers work on what has just been sent.
        if let due = flushPace.due, due <= .now { flush(claims) }
        do throws(SinkError) {
            var deadline = pollDeadline(round.graceEnd)
            if let pause { deadline = min(deadline, .now + pause) }
            if let due = flushPace.due { deadline = min(deadline, due) }
            tally.summary.timeSpent.begin(.waiting)
            let reports = try sink.reports(
                until: deadline, wakeup: round.graceEnd == nil ? Interruption.wakeup : -1)
            tally.summary.timeSpent.begin(.settling)
            for (ticket, report) in reports {
                guard let flight = round.flying.removeValue(forKey: ticket) else { continue }
                flight.lane.inFlight -= 1
                take(report, of: flight, &round, claims)
            }
        } catch {
            tally.agentsFailed(error.description)
            round.graceEnd = .now
        }
    }

    // MARK: - Beginning

    /// Begins what may begin now; returns how long until more may, where only a rate is in the way.
    private func begin(_ round: inout Round, _ claims: SpoolRun) -> Duration? {
        while round.flying.count < round.concurrency {
            let elapsed = ContinuousClock.now - started
            let wait = max(pace.wait(at: elapsed), waitOfGate())
            if wait > .zero, hasWork(round) { return wait }
            let flight: Flight?
            if let work = nextUrgent(elapsed) {
                switch work {
                case .sample(let candidate): flight = begin(candidate, &round, claims, isSample: true)
                case .claimed(let claimed): flight = submit(claimed, &round, claims)
                }
            } else if let next = nextInOrder(&round, elapsed) {
                flight = begin(next, &round, claims, isSample: false)
            } else {
                break
            }
            if let flight { fly(flight, &round) }
            if mustStop() { return nil }
        }
        let elapsed = ContinuousClock.now - started
        let waits = book.paced.compactMap { digest -> Duration? in
            guard let lane = book.lanes[digest] else { return nil }
            let isWaiting = !round.isEmpty(of: lane) && lane.allowance > 0 || !lane.urgent.isEmpty
            let wait = lane.pace.wait(at: elapsed)
            return isWaiting && !lane.isClosed && wait > .zero ? wait : nil
        }
        return round.flying.count < round.concurrency ? waits.min() : nil
    }

    /// Whether anything may begin apart from a rate: what waits for a closed destination may not.
    private func hasWork(_ round: Round) -> Bool {
        round.lanes.contains { $0.allowance > 0 && !round.isEmpty(of: $0) }
            || unusual.contains { book.lanes[$0].map { !$0.urgent.isEmpty && !$0.isClosed } ?? false }
    }

    private func nextInOrder(_ round: inout Round, _ elapsed: Duration) -> Candidate? {
        let lanes = round.lanes
        let position = round.order.next(
            free: round.concurrency - round.flying.count, inFlight: { lanes[$0].inFlight },
            allowance: { lanes[$0].pace.wait(at: elapsed) == .zero ? lanes[$0].allowance : 0 })
        return position.map { round.candidates[$0] }
    }

    private func nextUrgent(_ elapsed: Duration) -> Work? {
        for digest in unusual {
            guard let lane = book.lanes[digest], lane.isUnusual else {
                unusual.remove(digest)
                continue
            }
            if !lane.urgent.isEmpty, lane.inFlight == 0, !lane.isClosed, lane.pace.wait(at: elapsed) == .zero {
                return lane.urgent.removeFirst()
            }
        }
        return nil
    }

    private func fly(_ flight: Flight, _ round: inout Round) {
        let elapsed = ContinuousClock.now - started
        round.flying[tally.summary.attempts] = flight
        flight.lane.inFlight += 1
        flight.lane.pace.begin(at: elapsed)
        pace.begin(at: elapsed)
    }

    /// Claims and reads an operation, with others where its route sends batches, and submits the request; `nil` where
    /// there is nothing to wait for.
    private func begin(
        _ candidate: Candidate, _ round: inout Round, _ claims: SpoolRun, isSample: Bool
    ) -> Flight? {
        let lane = lane(of: candidate)
        let maker = maker(of: candidate.entry.name.type, to: lane)
        guard let first = take(candidate, lane, maker, &round, claims) else { return nil }
        var flight = Flight(members: [first], lane: lane, maker: maker, began: world.now())
        flight.isSample = isSample
        flight.isProbe = lane.state.hold != nil
        if flight.isProbe {
            book.beginProbe(lane, at: flight.began)
        }
        if maker.route.batch != nil, !isSample, !flight.isProbe, !isLastAttempt(of: first, maker.route) {
            fill(&flight, &round, claims)
        }
        return submit(flight, &round, claims)
    }

    /// An entry's name carries only the digest of its own origin: once the operation has been read the destination can be
    /// called what it is.
    private func name(_ lane: Lane, by operation: Operation) {
        guard let name = operation.header.url.flatMap({ Origin(url: $0)?.description }),
            name != lane.destination.name, Digest(of: name) == lane.destination.digest
        else { return }
        lane.destination.name = name
    }

    /// Claims and reads one operation, unless that is done already; `nil` if a rival was faster, if it is none, or if it is not to be sent at all.
    private func take(
        _ candidate: Candidate, _ lane: Lane, _ maker: RequestMaker, _ round: inout Round, _ claims: SpoolRun
    ) -> Member? {
        if let member = round.claimed.removeValue(forKey: candidate.entry.name.id) { return member }
        round.begun += 1
        if flushPace.precedes(candidate.sequence), !flush(claims) {
            leave(candidate.sequence, &round)
            return nil
        }
        do throws(SpoolError) {
            guard let claim = try claims.claim(candidate.entry) else {
                leave(candidate.sequence, &round)
                return nil
            }
            switch try claims.read(claim, limits: configuration.limits) {
            case .operation(let stored):
                var member = Member(claim: claim, operation: stored.operation, sequence: candidate.sequence)
                name(lane, by: stored.operation)
                guard let settlement = unsent(member, maker.route) else {
                    if try merge(into: &member, lane, maker.route) { return member }
                    try sendApart([member], lane, &round, claims)
                    return nil
                }
                let flight = Flight(members: [member], lane: lane, maker: maker, began: world.now())
                try apply(settlement, member, flight, claims, sent: false)
                goOn(member, after: settlement.disposition, &round)
            case .notAnOperation(let reason):
                let settled = try claims.settle(claim, .quarantined(reason: reason), record: nil, now: world.now())
                if case .quarantined(let item) = settled { tally.quarantined(item) }
                if let sequence = candidate.sequence { round.order.settled(sequence, continues: true) }
            case .newerFormat(let version):
                setAside.insert(claim.name.id)
                _ = try claims.settle(claim, .putBack, record: nil, now: world.now())
                throw SpoolError(kind: .newerFormat(version), verb: "send", path: candidate.entry.path, code: 0)
            }
        } catch {
            // The claim, if there is one, is put back when the run ends; nothing has been sent.
            setAside.insert(candidate.entry.name.id)
            leave(candidate.sequence, &round)
            tally.inputOutput(error)
        }
        return nil
    }

    /// What becomes of an operation that is not to be sent: it has expired, or sending it again could do harm.
    private func unsent(_ member: Member, _ route: Route) -> Settlement? {
        unsent(member.operation, member.claim.name, route)
    }

    func unsent(_ operation: Operation, _ name: EntryName, _ route: Route) -> Settlement? {
        let now = world.now()
        return Settlement.decide(onExpiryOf: operation, route: route, now: now)
            ?? Settlement.decide(onAmbiguityOf: operation, name: name, route: route, now: now)
    }

    /// Whether the operation is to be attempted alone, see `Settlement.isLastAttempt`.
    private func isLastAttempt(of member: Member, _ route: Route) -> Bool {
        Settlement.isLastAttempt(of: member.operation, name: member.claim.name, route: route, now: world.now())
    }

    /// More operations for the same request, oldest first, as long as they go together.
    private func fill(_ flight: inout Flight, _ round: inout Round, _ claims: SpoolRun) {
        guard var draft = flight.maker.batch(beginningWith: flight.members[0].operation) else { return }
        let (lane, candidates) = (flight.lane, round.candidates)
        let type = flight.members[0].operation.header.type
        while !draft.isFull {
            guard let next = round.order.next(of: lane.line, where: { candidates[$0].entry.name.type == type }) else {
                return
            }
            guard let member = take(candidates[next], lane, flight.maker, &round, claims) else { continue }
            guard !isLastAttempt(of: member, flight.route), draft.admit(member.operation) else {
                // The next batch begins with it.
                round.claimed[member.claim.name.id] = member
                round.order.takeBack(next)
                return
            }
            flight.members.append(member)
        }
    }

    /// Makes the request and hands it to the sink; `nil` where none can be made, and the operations are settled.
    func submit(_ flight: Flight, _ round: inout Round, _ claims: SpoolRun) -> Flight? {
        var flight = flight
        do throws(SpoolError) {
            var request: OutgoingRequest
            let defect: String?
            do throws(RequestError) {
                let made = try makeRequest(for: flight)
                (request, flight.secrets, flight.redaction) = (made.request, made.secrets, made.redaction)
                request.destination = flight.lane.destination.name
            } catch {
                try giveUp(flight, error, &round, claims)
                return nil
            }
            do throws(SinkError) {
                let sink = openSink()
                defect = try flight.maker.fitTransport(of: &request, to: sink)
                if defect == nil {
                    flight.began = world.now()
                    try sink.submit(request, ticket: tally.summary.attempts + 1)
                    tally.summary.attempts += 1
                    return flight
                }
            } catch {
                tally.agentsFailed(error.description)
                for member in flight.members {
                    _ = try claims.settle(member.claim, .putBack, record: nil, now: world.now())
                }
                return nil
            }
            if let defect { try giveUp(flight, .noTransport(reason: defect), &round, claims) }
        } catch {
            // The claims are put back when the run ends; nothing has been sent.
            for member in flight.members { setAside.insert(member.claim.name.id) }
            tally.inputOutput(error)
        }
        return nil
    }

    func openSink() -> any Sink {
        let sink = sink ?? world.makeSink(options.concurrency)
        self.sink = sink
        return sink
    }

    private func makeRequest(for flight: Flight) throws(RequestError) -> RequestMaker.Made {
        if let file = flight.members.first?.operation.header.bodyFile,
            let refusal = spool.check(file, roots: configuration.bodyFileRoots)
        {
            throw .badBodyFile(path: file.path, reason: refusal.description)
        }
        return try flight.maker.request(
            for: flight.members.map { ($0.operation, $0.claim.name.attempts + 1 + flight.uncharged) })
    }
}
