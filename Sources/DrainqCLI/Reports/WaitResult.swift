import Policy

/// One line of `wait --json`, schema 1.
struct WaitResult: JSONObject {
    enum Outcome: String, Encodable, CaseIterable {
        case delivered, failed, expired, evicted, superseded, dropped, quarantined, gone, waiting, unknown
    }

    var id: String
    var outcome: Outcome
    var last: AttemptRecord?
    var error: String?
    var answer: KeptAnswer?

    static let fields: [JSONField<WaitResult>] =
        [
            .field("id", .text, "the operation", \.id),
            .field(
                "outcome", .word(Outcome.allCases.map(\.rawValue)),
                "the outcome; waiting if the time limit came first", \.outcome),
            .maybe("status", .count, "the status of the last answer", \.last?.status),
            .maybe("rule", .text, "the rule that decided", \.last?.rule),
            .maybe("error", .text, "the reason why it was not delivered", \.error),
        ] + JSONField.bytes("answer", "the body of the kept answer", \.answer?.body) + [
            .maybe(
                "answerCut", .flag, "true if the answer was longer than answerLimit, or could not be read whole"
            ) { $0.answer?.isCut == true ? true : nil }
        ]
}
