import CSystem
package import Policy

/// A request with claimed operations, from its handover to its answer. Only `SpoolRun.begin` makes one, and only its
/// answer makes receipts of its operations.
package struct RequestInFlight: Sendable {
    let claims: [Claim]

    fileprivate init(of claims: [Claim]) { self.claims = claims }
}

/// The evidence of a delivery: a request that carried these files has begun, and was answered. Their claims are marked
/// as delivered before the first of the files is removed or moved, so a death of the process sends none of them again.
///
/// `SpoolRun.settle` uses it for each of the claims, once.
package struct Receipt: Sendable {
    let claims: [Claim]
    /// Whether the marks say so, for the next run. False on a shared file system: a host may die with the end of a mark
    /// in its memory, and an operation of the same name must not go unsent for the mark.
    package let isMarked: Bool
    /// The errors that kept answers from the files of their copies.
    let losses: [EntryName: SpoolError]

    fileprivate init(of claims: [Claim], isMarked: Bool, losses: [EntryName: SpoolError]) {
        (self.claims, self.isMarked, self.losses) = (claims, isMarked, losses)
    }

    func covers(_ claim: Claim) -> Bool { claims.contains { $0 === claim } }
}

extension SpoolRun {
    /// Begins a request with these operations, just before its handover. If the process dies from here on, recovery
    /// counts an interruption of each.
    @discardableResult
    package func begin(_ claims: [Claim]) -> RequestInFlight {
        for claim in claims where claim.isOpen && claim.mark == nil { mark(claim, .begun) }
        return RequestInFlight(of: claims)
    }

    /// Notes that the answer to a request delivers some of its operations, each with the record of its delivery. If the
    /// process dies from here on, recovery finishes the delivery.
    ///
    /// First appends the records that must survive the operations: to copies for `delivered/` (`keep`), and records
    /// with values for a chain. Keeps the values of a record without room. Throws if they cannot be written either:
    /// then nothing is marked.
    package func receipt(
        of request: RequestInFlight, for deliveries: [(claim: Claim, record: AttemptRecord)], keep: Bool
    ) throws(SpoolError) -> Receipt {
        let claims = deliveries.map(\.claim)
        precondition(claims.allSatisfy { claim in request.claims.contains { $0 === claim } })
        var losses: [EntryName: SpoolError] = [:]
        for (claim, record) in deliveries where keep || record.kept != nil {
            try confirm()
            guard let loss = append(record, to: claim) else { continue }
            if let left = record.kept {
                _ = try queue.keep(left.kept, of: Age(claim.name), for: left.chain, at: record.at + record.duration)
            }
            if record.answer != nil { losses[claim.name] = loss }
        }
        // Before the marks: what a mark delivers, `wait` knows as delivered.
        if let now = deliveries.lazy.map({ $1.at + $1.duration }).max() {
            queue.noteDeliveries(of: claims, keep: keep, at: now)
        }
        let isMarked = queue.fileSystem.isLocal && claims.allSatisfy { mark($0, .delivered(keep: keep)) }
        return Receipt(of: claims, isMarked: isMarked, losses: losses)
    }

    /// Leaves claims that are marked as delivered or failed, and could not be settled, to the next recovery: none of
    /// them is sent again. Returns false if none of them is marked.
    package func leaveDecided(_ claims: [Claim]) -> Bool {
        var isLeft = false
        for claim in claims where claim.isOpen {
            switch claim.mark?.meaning {
            case .delivered, .failed:
                leave(claim)
                isLeft = true
            case .begun, .withheld, nil: break
            }
        }
        return isLeft
    }
}
