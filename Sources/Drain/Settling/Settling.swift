import Delivery
import Policy
import Spool

/// The last step of an attempt: applies verdicts to the files, counts and reports, and syncs the result. Holds what the
/// run has decided and not synced yet.
///
/// New for each pass. If the process dies, the next run returns the unsettled operations (SpoolDirectory, table of
/// states).
struct Settling: ~Copyable {
    let spoolRun: SpoolRun
    let spool: SpoolDirectory
    let configuration: Configuration
    let world: World
    let tally: RunTally
    let book: DestinationBook
    /// The source of jitter.
    var chance: SharedGenerator
    /// Whether a submitter learns how its operation ends (`send`): then nothing is kept of a delivered or refused
    /// operation, and no other operation pays for its refusal.
    var hasSubmitter: Bool { spoolRun.hasSubmitter }
    var operations: OperationBook
    /// Whether to list the queue again: older operations now go before an operation that was put back, another run has
    /// claimed chosen operations, or an answer has left a value for waiting operations.
    var hasToListAgain = false
    /// Whether there was room to keep values, and until when this counts; `nil` before the first check.
    var roomToKeep: (isThere: Bool, until: ContinuousClock.Instant)?
    /// What the last attempt made of the submitter's operation, whether its file is as this says, and where the file
    /// is; `nil` before an attempt.
    var outcome: (event: AttemptEvent, isApplied: Bool, entry: Entry?)?
    /// The outcomes not applied to the files yet, of operations without an order.
    private var decided: [Decision] = []
    /// The receipts of operations whose files are still as they were.
    var receipts: [OperationID: Receipt] = [:]
    /// Operations that have failed on disk, while the storm guard withholds their answers.
    var released: [OperationID: Decision] = [:]
    private var isCollecting = false
    private var syncPace: SyncPace
    /// The rule at the time of the last listing.
    var rule: ReplacementRule
    var proposals: ProposedValues

    /// `operations` is what earlier passes have made of single operations.
    init(_ parts: RunParts, _ spoolRun: SpoolRun, _ operations: OperationBook) {
        self.spoolRun = spoolRun
        spool = parts.spool
        configuration = parts.configuration
        world = parts.world
        tally = parts.tally
        book = parts.book
        self.operations = operations
        var generator = world.generator
        chance = SharedGenerator(using: &generator)
        syncPace = SyncPace(now: world.clock.instant())
        rule = ReplacementRule(configuration, at: world.clock.now())
        proposals = ProposedValues(spool: spool, clock: world.clock)
    }

    // MARK: - Answers

    /// Settles each operation of an attempt by the answer's verdict, or by `verdict` if given.
    @discardableResult
    mutating func settle(_ answer: AttemptAnswer, as verdict: Verdict? = nil) -> [Settlement] {
        let now = world.now()
        let verdict = verdict ?? answer.verdict
        let shared = SharedGenerator(using: &chance)
        if answer.attempt.members.count > 1 { receive([answer]) }
        return answer.attempt.members.map { member in
            var settlement = settlement(of: member, answer, as: verdict, at: now, using: shared)
            if hasSubmitter { noteOutcome(&settlement, member, answer, verdict, now) }
            do throws(SpoolError) {
                if !released.isEmpty {
                    if let failed = released.removeValue(forKey: member.name.id) {
                        if !takeBack(failed, settlement) { return failed.settlement }
                    } else {
                        noteOvertaken(by: member, settlement)
                    }
                }
                try settle(member, &settlement, answer)
                outcome?.isApplied = true
            } catch {
                setAside(member, error)
                settlement.disposition = .putBack
            }
            return settlement
        }
    }

    private mutating func settle(
        _ member: Member, _ settlement: inout Settlement, _ answer: AttemptAnswer
    ) throws(SpoolError) {
        let attempt = answer.attempt
        if !hasSubmitter, case .failed = settlement.disposition, let claim = member.claim,
            let newer = try proposals.newer(than: member.name, by: rule),
            try spoolRun.supersede(claim, byWaiting: newer, rule, patience: QueueView.patience, at: world.now())
        {
            // The operation must not come back out of `failed/`.
            settlement.disposition = .superseded
            note(settlement, member, attempt)
            return tell(.gone, settlement, member, attempt, isSent: !answer.isUnsent)
        }
        var stormStatus: Int?
        if !hasSubmitter, case .failed = settlement.disposition { stormStatus = answer.stormStatus }
        member.claim?.note(isOfStorm: stormStatus != nil)
        var receipt = receipts.isEmpty ? nil : receipts.removeValue(forKey: member.name.id)
        if receipt == nil { receipt = try self.receipt(for: member, &settlement, attempt) }
        // Operations of a sequence are settled at once, before the operations behind them go on.
        let mayWait = isCollecting && !hasSubmitter && member.sequence == nil && member.claim != nil
        if mayWait, spoolRun.isSlowToSettle || receipt?.isMarked == true {
            try keep(settlement.kept, of: member.operation, attempt.maker)
            note(settlement, member, attempt)
            decided.append(
                Decision(
                    settlement: settlement, member: member, attempt: attempt, isSent: !answer.isUnsent,
                    receipt: receipt))
        } else {
            try apply(settlement, member, attempt, isSent: !answer.isUnsent, receipt)
        }
        if let stormStatus {
            book.apply(.failed(status: stormStatus, member.name.id), to: attempt.destination, at: world.now())
        }
    }

    /// Notes what an answer makes of the submitter's operation. If its attempts or its age are used up, it is deferred
    /// all the same: no answer has ruled out its delivery.
    private mutating func noteOutcome(
        _ settlement: inout Settlement, _ member: Member, _ answer: AttemptAnswer, _ verdict: Verdict, _ now: Timestamp
    ) {
        if verdict.outcome == .deferred, case .failed(let countsAttempt) = settlement.disposition {
            settlement.disposition = .deferred(until: now, countsAttempt: countsAttempt)
        }
        outcome = (AttemptEvent(of: member, settlement, answer.attempt), isApplied: false, entry: nil)
    }

    /// Settles an operation without a request.
    mutating func settleUnsent(_ member: Member, _ settlement: Settlement, _ attempt: Attempt) throws(SpoolError) {
        if hasSubmitter { outcome = (AttemptEvent(of: member, settlement, attempt), isApplied: true, entry: nil) }
        try apply(settlement, member, attempt, isSent: false)
    }

    /// Sets aside an operation that could not be settled. Ends the run, unless the disk is full or another process
    /// keeps the names lock.
    mutating func setAside(_ member: Member, _ error: SpoolError) {
        operations.setAside.insert(member.name.id)
        let isDecided = spoolRun.leaveDecided(member.claims)
        guard endRunUnlessPassing(error), !isDecided else { return }
        // Row C → N or D: there is no room for the new name, so the operation goes back under its old name. Claims
        // piling up in the run's directory would keep other operations from being sent. If there is no room for the old
        // name either, the end of the pass puts the operation back.
        do throws(SpoolError) {
            try putBack(member)
        } catch {
            if !error.isFullDisk { tally.endRun(because: error) }
        }
    }

    /// Counts an error of a file call. Ends the run, unless the disk is full or another process keeps the names lock.
    /// Returns whether the run goes on.
    @discardableResult
    func endRunUnlessPassing(_ error: SpoolError) -> Bool {
        let isPassing = (error.isFullDisk || error.isLocked) && error.kind == .io
        if isPassing { tally.inputOutput(error) } else { tally.endRun(because: error) }
        return isPassing
    }

    /// Returns whether the next operation of a sequence may be sent after this disposition of one of its operations.
    mutating func continues(_ sequence: SequenceKey, of type: TypeName, after disposition: Disposition) -> Bool {
        let continues =
            switch disposition {
            case .failed, .quarantined: !configuration.route(of: type).holdsBehindFailed
            case .delivered, .superseded: true
            case .deferred, .putBack, .held: false
            }
        if continues { syncPace.ended(in: sequence) }
        return continues
    }

    // MARK: - Several at once

    /// Collects the decisions about operations without an order until `endCollecting`: in a slow directory the calls
    /// that apply them to the files then overlap. A crash before the end is like a crash before the answers came.
    mutating func beginCollecting() { isCollecting = true }

    /// Applies the collected decisions to the files, unless all are marked: `settleDecided` then applies them.
    mutating func endCollecting() {
        isCollecting = false
        if !decided.allSatisfy({ $0.receipt?.isMarked == true }) { settleDecided() }
    }

    /// Applies the collected outcomes to the files. Called once the next requests have begun, before long work, and
    /// before work reported after the outcomes.
    mutating func settleDecided() {
        if decided.isEmpty { return }
        let before = tally.begin(.settling)
        defer { tally.begin(before) }
        let decisions = decided
        decided = []
        let disposals = decisions.map { disposal(of: $0.member.claim!, $0.settlement, $0.receipt) }
        for (decision, outcome) in zip(decisions, spoolRun.settle(disposals, now: world.now())) {
            switch outcome {
            case .success(let settled):
                tell(settled, decision.settlement, decision.member, decision.attempt, isSent: decision.isSent)
            case .failure(let error): setAside(decision.member, error)
            }
        }
    }

    // MARK: - Files

    /// Applies a settlement to the files of an operation and its parts, then counts and reports it.
    mutating func apply(
        _ settlement: Settlement, _ member: Member, _ attempt: Attempt, isSent: Bool, _ receipt: Receipt? = nil
    ) throws(SpoolError) {
        try settleParts(of: member, settlement, attempt, receipt)
        try keep(settlement.kept, of: member.operation, attempt.maker)
        if case .delivered = settlement.disposition, let claim = member.claim {
            do throws(SpoolError) { try supersedeDeadLetters(by: claim) } catch {
                // Without its mark the operation would be sent again.
                if receipt?.isMarked == true { throw error }
                tally.inputOutput(error)
            }
        }
        let settled = try member.claim.map { (claim) throws(SpoolError) in
            try spoolRun.settle(disposal(of: claim, settlement, receipt), now: world.now())
        }
        note(settlement, member, attempt)
        tell(settled, settlement, member, attempt, isSent: isSent)
    }

    func disposal(of claim: Claim, _ settlement: Settlement, _ receipt: Receipt?) -> SpoolRun.Disposal {
        if !settlement.isRecorded, settlement.record.leavesDoubt { claim.noteUnknownEnd() }
        return SpoolRun.Disposal(
            claim, settlement.disposition, record: settlement.isRecorded ? settlement.record : nil, receipt: receipt)
    }

    /// Notes for this run what becomes of an operation.
    mutating func note(_ settlement: Settlement, _ member: Member, _ attempt: Attempt) {
        let disposition = settlement.disposition
        let age = Age(member.name)
        if !operations.deferred.isEmpty { operations.deferred.remove(age) }
        if case .deferred = disposition { operations.deferred.insert(age) }
        if disposition == .held { operations.ambiguous.insert(age) }
        if disposition != .putBack {
            book.unpark(age, attempt.destination)
            attempt.destination.done += 1
        }
    }

    /// Counts and reports what was done to a file.
    mutating func tell(
        _ settled: Settled?, _ settlement: Settlement, _ member: Member, _ attempt: Attempt, isSent: Bool
    ) {
        switch settled {
        case .quarantined(let item): tally.quarantined(item)
        case .unkept(let error): tally.inputOutput(error)
        case .moved(let entry): outcome?.entry = entry
        case .gone, nil: break
        }
        syncPace.settled()
        tally.settled(AttemptEvent(of: member, settlement, attempt), isSent: isSent)
    }

    /// Row C → N or D: puts an operation back where it was, uncharged.
    func putBack(_ claim: Claim) throws(SpoolError) {
        _ = try spoolRun.settle(claim, .putBack, record: nil, now: world.now())
    }

    /// Row C → N or D: puts an operation and its parts back where they were, uncharged.
    func putBack(_ member: Member) throws(SpoolError) {
        for claim in member.claims { try putBack(claim) }
    }

    /// Row C → N or D: puts an operation back whose credentials are missing or refused. The pass lists again for
    /// others in its place.
    mutating func putBackWithheld(_ member: Member, because reason: String) {
        tally.tell(.withheld(member.name.id, reason: reason))
        operations.reasons[member.name.id] = reason
        putBack(member.claims)
        operations.deferred.insert(Age(member.name))
        operations.withheld.insert(member.name.id)
        hasToListAgain = true
    }

    /// Row C → N or D: puts operations back that are not sent after all, uncharged.
    mutating func putBack(_ all: [Claim]) {
        let outcomes = spoolRun.settle(all.map { .init($0, .putBack) }, now: world.now())
        for (claim, outcome) in zip(all, outcomes) {
            if case .failure(let error) = outcome { setAside([claim.name.id], because: error) }
        }
    }

    /// Row C → Q: quarantines a file that is not an operation.
    func quarantine(_ claim: Claim, _ reason: String) throws(SpoolError) {
        let settled = try spoolRun.settle(claim, .quarantined(reason: reason), record: nil, now: world.now())
        if case .quarantined(let item) = settled { tally.quarantined(item) }
    }

    /// Sets aside operations that could not be processed. The end of the run puts their claims back.
    mutating func setAside(_ ids: [OperationID], because error: SpoolError) {
        operations.setAside.formUnion(ids)
        for id in ids { operations.reasons[id] = error.description }
        tally.inputOutput(error)
    }

    /// Returns why an operation is not sent whose credentials the server refused.
    static func refused(with status: Int) -> String { "the server refuses its credentials with \(status)" }

    /// Parks a refused operation, until a witness shows whether it or its credentials are to blame.
    mutating func park(_ refusal: Parking.Refusal, _ destination: RunDestination, _ record: AttemptRecord) {
        settleDecided()
        let now = world.now()
        book.apply(.parked(refusal, at: now), to: destination, at: now)
        let operation = refusal.operation
        operations.deferred.insert(operation)
        if refusal.areOwn { operations.withheld.insert(operation.id) }
        let times = destination.state.parking[operation]?.times ?? 1
        // Before its second refusal, another operation may show at once who is to blame.
        if times > 1 { operations.reasons[operation.id] = Self.refused(with: refusal.status) }
        tally.tell(.parked(operation.id, destination: destination.name, record: record, times: times))
    }

    // MARK: - Syncing

    /// The time of the next sync; `nil` while every settled operation is synced.
    var syncDue: ContinuousClock.Instant? { syncPace.due }

    /// Whether the next operation of this sequence must wait for a sync.
    func mustSync(before sequence: SequenceKey?) -> Bool { syncPace.mustSync(before: sequence) }

    /// Syncs settled operations. Returns false after an error, which ends the run.
    @discardableResult
    mutating func syncOrEndRun() -> Bool {
        do throws(SpoolError) {
            try sync()
            return true
        } catch {
            tally.endRun(because: error)
            return false
        }
    }

    /// Syncs settled operations.
    mutating func sync() throws(SpoolError) {
        settleDecided()
        let before = tally.begin(.syncing)
        let start = world.clock.instant()
        defer {
            syncPace.synced(from: start, to: world.clock.instant())
            tally.begin(before)
        }
        try spoolRun.sync()
    }
}
