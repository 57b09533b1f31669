import Drain
import Policy
import Spool

/// A report of what keeps every run from its work or from a part of it, such as a broken configuration. Runs without a
/// terminal make the same report once an hour: one cause is one mail.
struct Complaint {
    var text: String
    var hint: String?

    /// Records the report if it is due, and returns whether it is. Everything is reported at a terminal.
    func recordIfDue(in spool: SpoolDirectory, at now: Timestamp) -> Bool {
        if Terminal.isOnStandardError { return true }
        var isDue = true
        // try?: a ledger that cannot be written costs a mail too many.
        try? StateFile.reports.update(ReportLedger(), in: spool) { isDue = $0.tell(text, at: now) }
        return isDue
    }
}
