/// One line of `wait --json`, schema 1.
struct WaitResult: Encodable {
    enum Outcome: String, Encodable, CaseIterable {
        case delivered, failed, quarantined, gone, waiting, unknown
    }

    var id: String
    var outcome: Outcome
    var status: Int?
    var rule: String?
    var error: String?
    var answer: String?
    var answerBase64: String?
}
