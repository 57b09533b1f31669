package import Policy

/// Claims, reads and settles several operations at once, if the directory is slow.
///
/// Each operation goes through the same rows as it would alone, by calls for this operation only. A crash finds some
/// operations claimed or settled and others not, as if they had come in succession.
extension SpoolRun {
    /// A claim and the content of its file.
    package final class Taken: Sendable {
        package let claim: Claim
        package let file: StoredFile

        fileprivate init(_ claim: Claim, _ file: StoredFile) { (self.claim, self.file) = (claim, file) }
    }

    /// A claim with what is to become of it: the arguments of `settle(_:_:record:receipt:now:)`.
    package struct Disposal {
        let claim: Claim
        let disposition: Disposition
        let record: AttemptRecord?
        let receipt: Receipt?

        package init(
            _ claim: Claim, _ disposition: Disposition, record: AttemptRecord? = nil, receipt: Receipt? = nil
        ) {
            self.claim = claim
            self.disposition = disposition
            self.record = record
            self.receipt = receipt
        }
    }

    /// Whether it is faster to take several operations at once, as far as is known.
    package var isSlowToTake: Bool { takers.isWorthwhile }

    /// Whether it is faster to settle several operations at once, as far as is known.
    package var isSlowToSettle: Bool { settlers.isWorthwhile }

    /// Claims and reads one operation: row N, D → C; `nil` if another run was faster, or has the file under another
    /// name. Throws as `claim` and `read` do.
    package func take(_ entry: Entry, leavingBodies: Bool = false) throws(SpoolError) -> Taken? {
        try takers.alone { () throws(SpoolError) in try takeUntimed(entry, leavingBodies) }
    }

    /// Claims and reads operations: row N, D → C. Returns for each entry, in order, the result or error of its `take`.
    package func take(
        _ entries: [Entry], leavingBodies: Bool = false
    ) -> [Result<Taken?, SpoolError>] {
        takers.map(entries) { entry in
            do throws(SpoolError) {
                return .success(try takeUntimed(entry, leavingBodies))
            } catch {
                return .failure(error)
            }
        }
    }

    private func takeUntimed(_ entry: Entry, _ leavingBodies: Bool) throws(SpoolError) -> Taken? {
        guard let claim = try claim(entry) else { return nil }
        guard let file = try read(claim, leavingBodies: leavingBodies) else { return nil }
        return Taken(claim, file)
    }

    /// Settles one claim, as `settle(_:_:record:receipt:now:)` does.
    package func settle(_ disposal: Disposal, now: Timestamp) throws(SpoolError) -> Settled {
        try settlers.alone { () throws(SpoolError) in try settleUntimed(disposal, now) }
    }

    /// Settles claims: row C → any other. Returns for each claim, in order, the result or error of its `settle`.
    package func settle(_ disposals: [Disposal], now: Timestamp) -> [Result<Settled, SpoolError>] {
        settlers.map(disposals) { disposal in
            do throws(SpoolError) { return .success(try settleUntimed(disposal, now)) } catch { return .failure(error) }
        }
    }

    private func settleUntimed(_ disposal: Disposal, _ now: Timestamp) throws(SpoolError) -> Settled {
        try settle(
            disposal.claim, disposal.disposition, record: disposal.record, receipt: disposal.receipt, now: now)
    }
}
