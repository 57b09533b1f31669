@testable import DrainqCLI

extension OutputObject {
    static let table: [OutputObject] =
        [
            OutputObject("an operation", by: ["list", "run --dry-run"], EntryView.self),
            OutputObject("an operation with all its attempts", by: ["show"], OperationDetails.self),
            OutputObject(
                "a request that would be sent", by: ["show --request", "run --dry-run --request"], RequestView.self),
            OutputObject("a file in quarantine", by: ["list", "show", "run"], QuarantineView.self),
            OutputObject("an attempt", by: ["run"], AttemptView.self),
            OutputObject("an operation that a newer one has replaced", by: ["run"], SupersededView.self),
            OutputObject("the summary of a run", by: ["run"], SummaryView.self),
            OutputObject("the status of the queue", by: ["status"], QueueStatus.self),
            OutputObject("a line of the queue's log", by: ["log"], LogView.self),
            OutputObject("the result of an input line", by: ["add", "import"], AddResult.self),
            OutputObject("the result of a send", by: ["send"], SendResult.self),
            OutputObject("the result of a wait", by: ["wait"], WaitResult.self),
            OutputObject(
                "a changed operation or destination", by: ["retry", "drop", "hold", "release"],
                ActionResult.self),
            OutputObject("a finding", by: ["check"], Findings.Line.self),
            OutputObject("the meaning of an answer", by: ["explain ANSWER", "explain --answer"], Explanation.self),
            OutputObject("the meanings of all answers", by: ["explain"], AnswerTable.self),
        ] + written

    /// Objects that are not made of fields because they keep bytes as received: `ReceivedLine`, `PortableOperation`.
    private static let written = received + [exported]

    // MARK: - The receiver

    private static let received: [OutputObject] = [
        OutputObject(
            "the start of the receiver", by: ["receive"],
            [
                Field("event", .word(["listening"]), "the kind of object"),
                Field("url", .text, "the URL of the receiver"),
            ]),
        OutputObject(
            "a request that was received", by: ["receive"],
            [
                Field("event", .word(["request"]), "the kind of object"),
                Field("number", .count, "the number of the request, from 1"),
                Field("connection", .count, "the number of its connection, from 1"),
                Field("milliseconds", .count, "the milliseconds since the start"),
                Field("method", .text, "its method"),
                Field("target", .text, "its target"),
                .maybe("idempotencyKey", .text, "its Idempotency-Key"),
                Field("headers", .list(.list(.text)), "name and value of each of its fields"),
                Field("bytes", .count, "the bytes of its body"),
                .maybe("body", .anything, "its body, with --bodies: JSON, text, or an object with `base64`"),
            ]),
        OutputObject(
            "the end of the receiver", by: ["receive"],
            [
                Field("event", .word(["end"]), "the kind of object"),
                Field("by", .word(["count", "time", "signal"]), "the cause of the end"),
                Field("requests", .count, "the requests that it answered"),
            ]),
    ]

    // MARK: - Export

    private static let exported = OutputObject(
        "an operation to be imported", by: ["export"],
        [
            Field("id", .text, "its id, as in the header"),
            Field("state", .word(["new", "deferred", "failed", "delivered"]), "the state that import gives it"),
            .maybe("held", .flag, "true if a person holds it"),
            Field("attempts", .count, "the attempts that were counted"),
            .maybe("interruptions", .count, "the number of runs that died with the operation claimed"),
            .maybe("unknowns", .count, "the requests that may have arrived, and of which 'history' does not tell"),
            .maybe("due", .time, "the time of the next attempt, by the schedule"),
            .maybe("notBefore", .time, "the time before which a run does not send it"),
            Field("header", .map(.anything), "the first line of its file, byte for byte, without the checksum"),
            .maybe("payload", .anything, "the body, byte for byte, if it is JSON on one line"),
            .maybe("bodyBase64", .text, "the body in Base64, if it is not JSON on one line"),
            .maybe("history", .list(.map(.anything)), "the attempts, each as its line in the file"),
        ])
}
