import Delivery
import Policy
import Spool

/// Operations of one key that change members of one object (`coalesce: "merge"`): one request carries what all of them
/// change.
///
/// The newest of a key is claimed. The older ones are read and stay in rows N and D while its request is in flight: this run
/// has the sequence lock, and no other one claims what has an order. What becomes of them is decided by the answer:
///
/// - Delivered: the older ones go first, and that is durable before the newest goes. After a crash in between what is left
///   of them is merged and sent again (window W1): never an older one without the newest.
/// - Deferred, parked, held: the older ones stay as they are, and no run sends them without the newest.
/// - The attempts or the age of the newest are used up: all of them fail, the older ones first. They can be retried
///   together, and what one of them changes is in its file.
/// - Refused for good: nobody knows which of them is to blame, so each is sent by itself, in their order, in this run.
///   So is what no single document can say.
extension Run {
    /// Takes what is merged out of what the newer ones replace, for `merge`.
    func takeMerged(of pass: inout Pass) {
        mergedInto = [:]
        for older in pass.superseded where older.isMerged { mergedInto[older.newer, default: []].append(older.entry) }
        if mergedInto.isEmpty { return }
        for id in mergedInto.keys {
            mergedInto[id]!.sort { ($0.name.createdAt, $0.name.id) < ($1.name.createdAt, $1.name.id) }
        }
        pass.superseded.removeAll(where: \.isMerged)
    }

    /// Merges the payloads of the older operations of its key into a claimed operation. False where that cannot be done:
    /// they go before it then, one after the other.
    ///
    /// The idempotency key is made of those of all of them: the server does not take a document for a repetition of another
    /// one.
    func merge(into member: inout Member, _ lane: Lane, _ route: Route) throws(SpoolError) -> Bool {
        guard let older = mergedInto[member.claim.name.id] else { return true }
        var merged: [UInt8]?
        var keys: [String] = []
        for entry in older {
            // A person has dropped it, or held it, which gives it another name.
            guard let file = try spool.read(entry) else { continue }
            guard case .operation(let stored) = file, unsent(stored.operation, entry.name, route) == nil,
                stored.operation.goesTogether(with: member.operation),
                let sum = merged.map({ MergePatch.merged($0, stored.operation.body) }) ?? stored.operation.body
            else { return false }
            merged = sum
            keys.append(stored.operation.header.serverKey)
            member.merged.append(MergedOperation(entry: entry, operation: stored.operation))
        }
        guard let merged else { return true }
        guard let body = MergePatch.merged(merged, member.operation.body),
            body.count <= configuration.limits.operationBytes
        else {
            member.merged = []
            return false
        }
        keys.append(member.operation.header.serverKey)
        member.operation.body = body
        member.operation.header.idempotencyKey = "merge-\(Digest(of: keys.joined(separator: "\n")))"
        return true
    }

    /// Puts operations back, uncharged, and has those of their keys sent one after the other from now on in this run.
    func sendApart(
        _ members: [Member], _ lane: Lane, _ round: inout Round, _ claims: SpoolRun
    ) throws(SpoolError) {
        for member in members {
            let route = configuration.route(of: member.claim.name.type)
            if let group = route.group(of: member.claim.name, to: lane.destination) { apart.insert(group) }
            _ = try claims.settle(member.claim, .putBack, record: nil, now: world.now())
            leave(member.sequence, &round)
        }
        round.begun -= members.count
        hasToListAgain = true
    }

    /// A merged document was refused for good: its operations are sent by themselves.
    func unmerge(_ flight: Flight, _ round: inout Round, _ claims: SpoolRun) {
        do throws(SpoolError) {
            try sendApart(flight.members, flight.lane, &round, claims)
        } catch {
            // The claims are put back when the run ends.
            for member in flight.members { setAside.insert(member.claim.name.id) }
            tally.inputOutput(error)
        }
    }

    /// Rows N, D → gone, K or X, by way of C: what was merged into an operation ends as it does, durably before it. One that
    /// a person has taken away meanwhile stays away.
    func settleMerged(
        _ member: Member, _ settlement: Settlement, _ flight: Flight, _ claims: SpoolRun
    ) throws(SpoolError) {
        if member.merged.isEmpty { return }
        var own = settlement
        own.record.rule += "; merged into '\(member.claim.name.id)'"
        switch settlement.disposition {
        case .delivered: break
        case .failed: own.disposition = .failed(countsAttempt: false)
        case .deferred, .putBack, .held, .superseded, .quarantined: return
        }
        for older in member.merged {
            guard let claim = try claims.claim(older.entry) else { continue }
            let part = Member(claim: claim, operation: older.operation, sequence: member.sequence)
            try apply(own, part, flight, claims, sent: true)
        }
        try makeDurable(claims)
    }
}

extension Operation {
    /// Whether one request can carry what both change.
    fileprivate func goesTogether(with newer: Operation) -> Bool {
        header.bodyFile == nil && newer.header.bodyFile == nil && header.url == newer.header.url
            && header.method == newer.header.method && header.headers == newer.header.headers
            && header.contentType == newer.header.contentType
    }
}

extension OperationHeader {
    /// What the server knows the operation by.
    fileprivate var serverKey: String { idempotencyKey ?? id.description }
}
