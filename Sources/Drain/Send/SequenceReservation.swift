import Policy
import Spool

/// The right of the operation that `drainq send` attempts to go before all others of its sequence. It begins before the
/// first attempt, and ends with `end`, when the operation is over or in the queue.
///
/// The process has the sequence lock during an attempt. Between two attempts it keeps the operation's place instead, so
/// that runs can send other sequences.
package final class SequenceReservation {
    private let spool: SpoolDirectory
    private let spoolRun: SpoolRun
    private let name: EntryName
    private var place: SendPlace?
    private let report: (SpoolError) -> Void

    /// Makes this process a run, as other processes see it. Throws what `beginRun` throws.
    init(
        of name: EntryName, in spool: SpoolDirectory, at now: Timestamp, report: @escaping (SpoolError) -> Void
    ) throws(SpoolError) {
        self.spool = spool
        self.name = name
        self.report = report
        spoolRun = try spool.beginRun(now: now)
    }

    /// Takes the sequence lock and recovers dead runs' claims, which may be older. False if another run has it.
    func begin(at now: Timestamp) throws(SpoolError) -> Bool {
        for error in try spoolRun.takeSequenceLock(now: now).errors { report(error) }
        return spoolRun.hasSequenceLock
    }

    /// Releases the sequence lock and keeps the operation's place: runs can send other sequences.
    func releaseLockKeepingPlace() throws(SpoolError) {
        if place == nil { place = try spool.keepPlace(of: name) }
        spoolRun.releaseSequenceLock()
    }

    /// Ends the reservation. Leaves to the next run what cannot be removed.
    package func end() {
        place?.release()
        place = nil
        do throws(SpoolError) { try spoolRun.end() } catch { report(error) }
    }
}
