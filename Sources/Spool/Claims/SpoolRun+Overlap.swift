package import Policy

/// Several operations at once: their files are claimed, read and settled side by side where the directory is slow.
///
/// Each of them passes through the same rows as it would alone, by calls that concern no other one. A crash finds some of
/// them claimed or settled and others not, as it would if they had come one after the other.
extension SpoolRun {
    /// What a claim has brought: the claim and what its file holds.
    package typealias Taken = (claim: Claim, file: StoredFile)

    /// The arguments of `settle(_:_:record:now:)` for one claim.
    package struct Settling {
        let claim: Claim
        let disposition: Disposition
        let record: AttemptRecord?

        package init(_ claim: Claim, _ disposition: Disposition, record: AttemptRecord? = nil) {
            self.claim = claim
            self.disposition = disposition
            self.record = record
        }
    }

    /// Whether it gains to take several at once, as far as is known.
    package var isSlowToTake: Bool { takers.isWorthwhile }

    /// Whether it gains to settle several at once, as far as is known.
    package var isSlowToSettle: Bool { settlers.isWorthwhile }

    /// Claims and reads one: row N, D → C. Returns what was taken, `nil` if a rival was faster; throws as `claim` and `read`
    /// do.
    package func take(_ entry: Entry, limits: Limits, leavingBodies: Bool = false) throws(SpoolError) -> Taken? {
        try takers.alone { () throws(SpoolError) in try takeUntimed(entry, limits, leavingBodies) }
    }

    /// Claims and reads: row N, D → C. For each entry in their order what `take` of it alone returns or throws.
    package func take(
        _ entries: [Entry], limits: Limits, leavingBodies: Bool = false
    ) -> [Result<Taken?, SpoolError>] {
        takers.map(entries) { entry in
            do throws(SpoolError) {
                return .success(try takeUntimed(entry, limits, leavingBodies))
            } catch {
                return .failure(error)
            }
        }
    }

    private func takeUntimed(_ entry: Entry, _ limits: Limits, _ leavingBodies: Bool) throws(SpoolError) -> Taken? {
        guard let claim = try claim(entry) else { return nil }
        return (claim, try read(claim, limits: limits, leavingBodies: leavingBodies))
    }

    /// Settles one, as `settle(_:_:record:now:)` does.
    package func settle(_ settling: Settling, now: Timestamp) throws(SpoolError) -> Settled {
        try settlers.alone { () throws(SpoolError) in try settleUntimed(settling, now) }
    }

    /// Settles: row C → any other. For each claim in their order what `settle` of it alone returns or throws.
    package func settle(_ settlings: [Settling], now: Timestamp) -> [Result<Settled, SpoolError>] {
        settlers.map(settlings) { settling in
            do throws(SpoolError) { return .success(try settleUntimed(settling, now)) } catch { return .failure(error) }
        }
    }

    private func settleUntimed(_ settling: Settling, _ now: Timestamp) throws(SpoolError) -> Settled {
        try settle(settling.claim, settling.disposition, record: settling.record, now: now)
    }
}
