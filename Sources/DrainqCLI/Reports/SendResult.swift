import Policy

/// One line of `send --json`, schema 1.
struct SendResult: JSONObject {
    var id: String?
    /// `delivered`, `queued`, `deferred` (with `--no-queue`) or `failed`; absent for input that is no operation.
    var outcome: String?
    var status: Int?
    var rule: String?
    var error: String?
    /// The answer's body as text; `nil` if it is not UTF-8.
    var answer: String?
    var answerBase64: String?

    static let fields: [JSONField<SendResult>] = [
        .maybe("id", .text, "the operation", \.id),
        .maybe(
            "outcome", .word(["delivered", "queued", "deferred", "failed"]),
            "the outcome; deferred if --no-queue kept it from being queued", \.outcome),
        .maybe("status", .count, "the status of the answer", \.status),
        .maybe("rule", .text, "the rule that decided", \.rule),
        .maybe("error", .text, "the reason why it was not delivered", \.error),
        .maybe("answer", .text, "the body of the answer, or with --select that part of it, if it is UTF-8", \.answer),
        .maybe("answerBase64", .text, "the body of the answer, if it is not UTF-8", \.answerBase64),
    ]

    init(error: String) {
        self.error = error
    }

    init(_ id: OperationID, _ outcome: String, _ record: AttemptRecord?, error: String? = nil, answer: [UInt8]? = nil) {
        self.id = id.description
        self.outcome = outcome
        status = record?.status
        rule = record?.rule
        self.error = error ?? record?.error
        if let answer {
            self.answer = String(validating: answer, as: UTF8.self)
            if self.answer == nil { answerBase64 = Base64.encode(answer) }
        }
    }
}
