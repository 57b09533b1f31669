@testable import Policy

extension SealedReport {
    /// Creates the report of a request without secrets.
    init(result: AttemptReport.Result, duration: Duration) {
        self.init(AttemptReport(result: result, duration: duration), .none)
    }
}
