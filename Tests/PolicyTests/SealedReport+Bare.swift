@testable import Policy

extension SealedReport {
    /// Of a request without secrets.
    init(result: AttemptReport.Result, duration: Duration) {
        self.init(AttemptReport(result: result, duration: duration), .none)
    }
}
