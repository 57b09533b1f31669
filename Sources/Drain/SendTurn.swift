import Policy
import Spool

/// The right of the one operation that `drainq send` tries to be sent before all others of its sequence. It begins before the
/// first attempt and ends when the operation is over, or is in the queue. Until `release` no other of its sequence is sent.
///
/// It holds the sequence lock while it attempts. Between two attempts it keeps the operation's place instead, so that runs
/// send what belongs to other sequences.
package final class SendTurn {
    private let spool: SpoolDirectory
    private let claims: SpoolRun
    private let name: EntryName
    private var place: SendPlace?
    private let report: (SpoolError) -> Void

    /// Makes this process a run, as far as others see. Throws what `beginRun` throws.
    init(
        of name: EntryName, in spool: SpoolDirectory, at now: Timestamp, report: @escaping (SpoolError) -> Void
    ) throws(SpoolError) {
        self.spool = spool
        self.name = name
        self.report = report
        claims = try spool.beginRun(now: now)
    }

    /// Takes the sequence lock and recovers dead runs, whose claims may be older; false where another run has the lock.
    func begin(at now: Timestamp) throws(SpoolError) -> Bool {
        for error in try claims.takeOrder(now: now).errors { report(error) }
        return claims.hasOrder
    }

    /// Lets others go on, but for those of its sequence.
    func pause() throws(SpoolError) {
        if place == nil { place = try spool.keepPlace(of: name) }
        claims.giveOrderBack()
    }

    /// Ends the turn. What cannot be removed is left to the next run.
    package func release() {
        place?.release()
        place = nil
        do throws(SpoolError) { try claims.end() } catch { report(error) }
    }
}
