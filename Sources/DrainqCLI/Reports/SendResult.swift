import Policy

/// One line of `send --json`, schema 1.
struct SendResult: JSONObject {
    var id: OperationID?
    /// `delivered`, `queued`, `deferred` (not in the queue) or `failed`; absent for input that is no operation.
    var outcome: String?
    var record: AttemptRecord?
    var error: String?
    /// The answer's body, or the part of it that `--select` names.
    var answer: [UInt8]?

    static let fields: [JSONField<SendResult>] =
        [
            .maybe("id", .text, "the operation", \.id?.description),
            .maybe(
                "outcome", .word(["delivered", "queued", "deferred", "failed"]),
                "the outcome; deferred if it is not queued: with --no-queue, or while another process sends its id",
                \.outcome),
            .maybe("status", .count, "the status of the answer", \.record?.status),
            .maybe("rule", .text, "the rule that decided", \.record?.rule),
            .maybe("error", .text, "the reason why it was not delivered") { $0.error ?? $0.record?.error },
        ] + JSONField.bytes("answer", "the body of the answer, or the selected part of it", \.answer)
}
