/// One line of `wait --json`, schema 1.
struct WaitResult: JSONObject {
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
    var answerCut: Bool?

    static let fields: [JSONField<WaitResult>] = [
        .field("id", .text, "the operation", \.id),
        .field(
            "outcome", .word(Outcome.allCases.map(\.rawValue)), "the outcome; waiting if the time limit came first",
            \.outcome),
        .maybe("status", .count, "the status of the last answer", \.status),
        .maybe("rule", .text, "the rule that decided", \.rule),
        .maybe("error", .text, "the reason why it was not delivered", \.error),
        .maybe("answer", .text, "the body of the kept answer, if it is UTF-8", \.answer),
        .maybe("answerBase64", .text, "the body of the kept answer, if it is not UTF-8", \.answerBase64),
        .maybe(
            "answerCut", .flag, "true if the answer was longer than answerLimit, and the rest was not kept",
            \.answerCut),
    ]
}
