import Drain
import Policy
import Spool

extension SpoolDirectory {
    /// Records a report of what keeps every run from its work or from a part of it, such as a broken configuration, if
    /// the report is due, and returns whether it is. Runs without a terminal make the same report once an hour: one
    /// cause is one mail. Everything is reported at a terminal.
    func recordIfDue(complaint text: String, at now: Timestamp) -> Bool {
        if Terminal.isOnStandardError { return true }
        var isDue = true
        // try?: a ledger that cannot be written costs a mail too many.
        try? StateFile.reports.update(ReportLedger(), in: self) { isDue = $0.tell(text, at: now) }
        return isDue
    }
}
