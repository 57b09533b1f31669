import Drain
import Policy
import Spool

extension OutputObject {
    typealias Fields = [Field]

    static let table: [OutputObject] =
        [operation, story, quarantined, attempt, summary, status] + given + acting + explained + received + [exported]

    // MARK: - Operations

    private static let states = ShownState.allCases.filter { $0 != .quarantined }.map(\.rawValue)
    private static let outcomes = Outcome.allCases.map(\.rawValue)

    private static let entry: Fields = [
        Field("id", .text, "the id of the operation"),
        Field("type", .text, "the type of the operation"),
        Field("state", .word(states), "the state of the operation"),
        Field("destination", .text, "the destination, by the present configuration"),
        .maybe("key", .text, "the key of the operation"),
        Field("createdAt", .time, "the time of its creation"),
        .maybe("due", .time, "the time of the next attempt, by the schedule"),
        .maybe("notBefore", .time, "the time before which a run does not send it, as `add` was told"),
        Field("attempts", .count, "the attempts that were counted"),
        .maybe("attemptsAllowed", .count, "the number of attempts after which it fails"),
        .maybe("interruptions", .count, "how often a run died with it since the last attempt that ended"),
        .maybe("lastStatus", .count, "the status of the last answer"),
        .maybe("lastError", .text, "the name of the error, if there was no usable answer"),
        .maybe("lastAttempt", .time, "the start of the last attempt"),
        .maybe("rule", .text, "the rule that decided"),
        Field("path", .text, "its file in the queue directory"),
        .maybe("run", .text, "the run that has claimed it"),
        .maybe(
            "waitsFor",
            .object([
                Field(
                    "what", .word(WaitView.words),
                    "its time, a release of its own, an older operation that goes first, a newer one that replaces it "
                        + "or that it is merged into, an older one that failed and holds it, a value that no answer has left for its key, the end of a pause of the queue, or the pause, hold, retry-after or open circuit breaker of its destination"
                ),
                .maybe("id", .text, "the other operation"),
                .maybe("name", .text, "the name of that value"),
                .maybe("until", .time, "the end of that, or the next probe of a hold"),
            ]), "the reason why a run does not send it now"),
    ]

    private static let operation = OutputObject("an operation", by: ["list", "run --dry-run"], entry)

    private static let record: Fields = [
        Field("at", .time, "the start of the attempt"),
        Field("durationMs", .count, "the duration in milliseconds"),
        Field("outcome", .word(outcomes), "the outcome"),
        .maybe("status", .count, "the status of the answer"),
        .maybe("error", .text, "the name of the error"),
        Field("rule", .text, "the rule that decided"),
        .maybe("retryAfter", .count, "the seconds that the server asked for"),
        .maybe("excerpt", .text, "the beginning of the answer, without secrets and control characters"),
        .maybe("accused", .word(Accused.allCases.map(\.rawValue)), "who is to blame, if it was not delivered"),
        .maybe("counted", .flag, "whether it counts as an attempt, if that does not follow from the rest"),
    ]

    private static let story = OutputObject(
        "an operation with all its attempts", by: ["show"],
        entry + [
            .maybe("method", .text, "the operation's own method"),
            .maybe("url", .text, "the operation's own URL"),
            .maybe("contentType", .text, "the media type of the body"),
            .maybe("expiresAt", .time, "the time at which it fails if it is not delivered"),
            .maybe("idempotencyKey", .text, "the idempotency key, if it is not the id"),
            .maybe("bodyFile", .text, "the file that is the body"),
            Field("bodyLength", .count, "the bytes of the body"),
            .maybe("body", .text, "the body, if it is UTF-8 and not in a file of its own"),
            Field("history", .list(.object(record)), "the attempts, the first one first"),
            .maybe(
                "answer",
                .object([
                    .maybe("contentType", .text, "its media type"),
                    .maybe("body", .text, "its body, if it is UTF-8"),
                    .maybe("bodyBase64", .text, "its body, if it is not UTF-8"),
                ]), "the answer to the delivery, if `keepAnswer` keeps it"),
            .maybe(
                "destinationHold",
                .object([
                    Field("reason", .text, "the reason of the hold"), Field("since", .time, "the start of the hold"),
                    Field("byHand", .flag, "whether a person holds it"),
                ]), "the hold of its destination"),
        ])

    private static let quarantined = OutputObject(
        "a file in quarantine", by: ["list", "show", "run"],
        [
            Field("event", .word(["quarantined"]), "what kind of object this is"),
            .maybe("id", .text, "the id, if the file has the name of an operation"),
            Field("state", .word(["quarantined"]), "where it is"),
            .maybe("createdAt", .time, "the creation of the operation, by that name"),
            .maybe("at", .time, "the time when it went into quarantine"),
            .maybe("reason", .text, "the reason"),
            .maybe("originalName", .text, "its earlier name"),
            .maybe("source", .text, "its origin"),
            Field("path", .text, "its file in the queue directory"),
        ])

    // MARK: - Runs

    private static let attempt = OutputObject(
        "an attempt", by: ["run"],
        [
            Field("event", .word(["attempt"]), "what kind of object this is"),
            Field("id", .text, "the operation"),
            Field("type", .text, "its type"),
            Field("destination", .text, "the destination of the request"),
        ] + record.filter { !["retryAfter", "counted"].contains($0.name) } + [
            Field("attempts", .count, "the attempts of this operation that were counted"),
            .maybe("attemptsAllowed", .count, "the number of attempts after which it fails"),
            .maybe("due", .time, "the time of the next attempt"),
        ])

    private static let counts: Fields = [
        Field("startedAt", .time, "the start of the run"),
        Field("durationMs", .count, "the duration in milliseconds"),
        Field(
            "end", .text,
            "the end of the run: `done`, `paused`, `busy`, `max-time`, a signal, or why it could not go on"),
        Field("exitStatus", .count, "its exit status"),
        Field("attempts", .count, "attempts that were made"),
        Field("delivered", .count, "operations that were delivered"),
        Field("deferred", .count, "operations that wait for another attempt"),
        Field(
            "waiting", .count,
            "operations whose destination has its circuit breaker open, was rate limited, or lacks the network or power that `conditions` asks for"
        ),
        Field("held", .count, "operations whose destination is held"),
        Field("paused", .count, "operations whose destination is paused"),
        Field("ambiguous", .count, "operations held by themselves, because their outcome is unknown"),
        Field("superseded", .count, "operations that a newer one has replaced"),
        Field("failed", .count, "operations that failed for good"),
        Field("expired", .count, "failed operations whose time was over"),
        Field("quarantined", .count, "files that went into quarantine"),
        Field("recovered", .count, "operations of dead runs that were put back"),
        Field("cutOff", .count, "attempts cut off by the end of the run"),
        Field("inputOutputErrors", .count, "errors of files and directories"),
        Field("leftDue", .count, "operations that are still due"),
        .maybe("nextDue", .time, "when the next operation is due"),
        .maybe("conditions", .text, "why network or power kept the run from attempting anything"),
        .maybe("spentMs", .object(spent), "the use of that time, in milliseconds"),
        .maybe("mostInFlight", .count, "the most attempts in flight at one moment"),
    ]

    private static let spent: Fields = [
        Field("choosing", .count, "recovering, admitting files, listing, deciding"),
        Field("claiming", .count, "claiming and reading operations, making their requests"),
        Field("waiting", .count, "waiting for answers, for a rate, or for what comes due"),
        Field("settling", .count, "recording attempts, removing and moving files"),
        Field("syncing", .count, "syncing to the disk"),
    ]

    private static let summary = OutputObject(
        "the summary of a run", by: ["run"],
        [Field("event", .word(["summary"]), "what kind of object this is")] + counts)

    // MARK: - Status

    private static let status = OutputObject(
        "the status of the queue", by: ["status"],
        [
            Field("at", .time, "the time of this status"),
            Field("queue", .text, "the queue directory"),
            Field("paused", .flag, "whether the queue is paused"),
            Field("states", .map(.count), "the operations and files in each state"),
            Field("destinations", .list(.object(destination)), "each destination with its operations"),
            Field("holds", .list(.object(hold)), "destinations that are held"),
            Field("heldByThemselves", .count, "operations that are held by themselves"),
            Field("heldBehindFailed", .count, "operations that are held behind one of their sequence that failed"),
            .maybe("oldest", .time, "the creation of the oldest waiting operation"),
            .maybe("nextDue", .time, "the earliest time of the next attempt"),
            Field("due", .count, "operations that are due now"),
            Field("behind", .count, "operations that wait for an older one of their sequence"),
            Field("superseded", .count, "operations that a newer one replaces; the next run removes them"),
            Field("merged", .count, "operations that go with a newer one, in one request"),
            Field("lackingKept", .count, "operations that wait for a kept value"),
            .maybe("conditions", .text, "why network or power would keep a run from attempting anything"),
            Field(
                "network", .word(NetworkKind.allCases.map(\.rawValue)),
                "what this machine has of a network: none, its own subnets, a way out, or one that costs, which is looked for "
                    + "where `conditions.network` is `unmetered`"),
            Field("deliveredTotal", .count, "operations that runs and `drainq send` have delivered in all"),
            .maybe("lastSuccess", .time, "the time of the last delivery"),
            .maybe(
                "lastRun",
                .object([Field("event", .word(["summary"]), "what kind of object this is")] + counts),
                "the summary of the last run that had something to do"),
        ])

    private static let destination: Fields = [
        Field("destination", .text, "the name of the destination"),
        Field("new", .count, "operations never attempted"),
        Field("deferred", .count, "operations that wait for another attempt"),
        Field("held", .count, "operations that are held, or whose destination is"),
        Field("claimed", .count, "operations in flight"),
        Field("failed", .count, "operations that failed for good"),
        Field(
            "ages", .map(.count),
            "how many operations that wait are younger than each of `1m`, `5m`, `1h`, `6h`, `1d` and `3d` and in no younger "
                + "group, and how many are `older`"),
        .maybe("oldest", .time, "the creation of the oldest waiting operation"),
        .maybe("nextDue", .time, "the earliest time of the next attempt"),
        Field("paused", .flag, "whether a person has paused it"),
        .maybe("retryAfterUntil", .time, "the end of the time that its server asked for, as by Retry-After"),
        Field(
            "circuitBreaker", .word(["closed", "open", "half-open"]),
            "open after failures in a row, half-open while one attempt is to show whether the server is back"),
        .maybe("coolDownUntil", .time, "the time until which the circuit breaker stays open"),
        .maybe("failures", .count, "failures in a row"),
        .maybe("lastFailure", .text, "the last of these failures"),
        .maybe("window", .count, "the most attempts in flight, while that is fewer than usual"),
        .maybe("overload", .count, "so many attempts in flight were too many for its server"),
        .maybe("lastSuccess", .time, "the time of the last delivery to it"),
    ]

    private static let hold: Fields = [
        Field("destination", .text, "the name of the destination"),
        Field("reason", .text, "the reason of the hold"),
        Field("since", .time, "the start of the hold"),
        Field("byHand", .flag, "whether a person holds it"),
        .maybe("nextProbe", .time, "the time of the next probe"),
        Field("operations", .count, "operations that wait for it"),
    ]

    // MARK: - Input

    private static let given = [
        OutputObject(
            "what became of a line of input", by: ["add", "import"],
            [
                .maybe("id", .text, "the operation, if it is in the queue"),
                .maybe(
                    "state", .word(ShownState.allCases.map(\.rawValue)), "its state, unless it was added just now"),
                .maybe("duplicate", .flag, "true if the id was in the queue already; nothing was changed"),
                .maybe("replaced", .flag, "true if it replaced the operation of that id"),
                .maybe("error", .text, "the reason why it was not added"),
                .maybe("source", .text, "the input file"),
                .maybe("line", .count, "the line of the input"),
            ]),
        OutputObject(
            "what became of an operation sent at once", by: ["send"],
            [
                .maybe("id", .text, "the operation"),
                .maybe(
                    "outcome", .word(["delivered", "queued", "deferred", "failed"]),
                    "the outcome; deferred if --no-queue kept it from being queued"),
                .maybe("status", .count, "the status of the answer"),
                .maybe("rule", .text, "the rule that decided"),
                .maybe("error", .text, "the reason why it was not delivered"),
                .maybe("answer", .text, "the body of the answer, or with --select that part of it, if it is UTF-8"),
                .maybe("answerBase64", .text, "the body of the answer, if it is not UTF-8"),
            ]),
        OutputObject(
            "what an operation that was waited for has come to", by: ["wait"],
            [
                Field("id", .text, "the operation"),
                Field(
                    "outcome", .word(WaitResult.Outcome.allCases.map(\.rawValue)),
                    "the outcome; waiting if the time was over before"),
                .maybe("status", .count, "the status of the last answer"),
                .maybe("rule", .text, "the rule that decided"),
                .maybe("error", .text, "the reason why it was not delivered"),
                .maybe("answer", .text, "the body of the kept answer, if it is UTF-8"),
                .maybe("answerBase64", .text, "the body of the kept answer, if it is not UTF-8"),
            ]),
    ]

    private static let acting = [
        OutputObject(
            "an operation or destination that something was done to", by: ["retry", "drop", "hold", "release"],
            [
                .maybe("id", .text, "the operation"),
                .maybe("state", .word(ShownState.allCases.map(\.rawValue)), "its state before"),
                .maybe("path", .text, "the file, if it is in quarantine"),
                .maybe("due", .time, "the time before which a run does not send it, with --rate"),
                .maybe("destination", .text, "the destination that was held or released"),
            ]),
        OutputObject(
            "a finding", by: ["check"],
            [
                Field("finding", .word(["ok", "note", "problem", "repaired"]), "the kind of finding"),
                .maybe("damage", .word(Damage.words), "the damage of the directory"),
                Field("text", .text, "the finding in words"),
                .maybe("hint", .text, "a remedy"),
            ]),
    ]

    // MARK: - Explanations

    private static let route: Fields = [
        Field("type", .text, "its type"),
        Field("method", .text, "its method"),
        .maybe("url", .text, "its URL, a template"),
        .maybe("compress", .word([Compression.gzip.rawValue]), "the compression of its bodies"),
        Field("destination", .text, "the destination of the route"),
        .maybe(
            "transport", .word(Transport.allCases.map(\.rawValue)), "the transport of its requests, if there is one"),
        Field("transportReason", .text, "the reason for that transport, or for none"),
        .maybe("sendsKept", .list(.text), "the names of the kept values that it sends, and waits for"),
        .maybe("lacksKept", .list(.text), "those that are missing for the key; only with --key"),
    ]

    private static let schedule: Fields = [
        Field("delays", .list(.text), "the first delays, without jitter"),
        .maybe("thenEvery", .text, "each delay after those"),
        Field("jitter", .number, "the most that is added to each, as a fraction of it"),
        .maybe("attemptsAllowed", .count, "the number of attempts after which it fails"),
        .maybe("maxAge", .text, "the age at which it fails"),
    ]

    private static let writtenRule: Fields = [
        Field("rule", .text, "the rule"),
        .maybe("written", .text, "its file and line"),
    ]

    private static let explained = [
        OutputObject(
            "what an answer means", by: ["explain ANSWER", "explain --answer"],
            [
                Field("answer", .text, "the status or error"),
                Field("route", .object(route), "the route"),
                Field("outcome", .word(outcomes), "the outcome"),
                Field("rule", .text, "the rule that decides"),
                .maybe("written", .text, "the file and the line of the rule, if it is written in a file"),
                .maybe(
                    "unless", .list(.object(writtenRule)),
                    "rules that decide instead if the answer meets their conditions; not with --answer"),
                .maybe("provided", .text, "the condition that the answer must meet besides"),
                .maybe("otherwise", .word(outcomes), "the outcome if it does not"),
                .maybe(
                    "members",
                    .list(
                        .object([
                            Field("outcome", .word(outcomes), "the outcome"),
                            Field("rule", .text, "the rule that decides"),
                            .maybe("written", .text, "the file and the line of the rule"),
                        ])), "what the answer to a batch means for each of its operations; only with --answer"),
                Field("operation", .text, "the effect on the operation"),
                Field("countsAttempt", .flag, "whether it counts as an attempt"),
                .maybe("accused", .word(Accused.allCases.map(\.rawValue)), "who is to blame, if it is no delivery"),
                Field("destination", .list(.text), "the effects on the destination, a sentence each"),
                .maybe("retry", .object(schedule), "the schedule of the next attempts"),
            ]),
        OutputObject(
            "what all answers mean", by: ["explain"],
            [
                Field("route", .object(route), "the route"),
                .maybe("rules", .list(.object(writtenRule)), "the `answers` of the route, which decide first"),
                Field(
                    "answers",
                    .list(
                        .object([
                            Field("answers", .text, "a status, a range of them, or an error"),
                            Field("outcome", .word(outcomes), "the outcome"),
                            Field("rule", .text, "the rule that decides"),
                        ])), "the outcome of each answer"),
                .maybe("provided", .text, "the condition that a 2xx must meet besides"),
                .maybe("otherwise", .word(outcomes), "the outcome if it does not"),
                Field("retry", .object(schedule), "the schedule of the next attempts"),
                .maybe("retryRateLimited", .object(schedule), "the schedule after 429"),
                .maybe("expiresAfter", .text, "the age at which an operation fails"),
            ]),
    ]

    // MARK: - The receiver

    private static let received = [
        OutputObject(
            "that the receiver listens", by: ["receive"],
            [
                Field("event", .word(["listening"]), "what kind of object this is"),
                Field("url", .text, "the URL of the receiver"),
            ]),
        OutputObject(
            "a request that was received", by: ["receive"],
            [
                Field("event", .word(["request"]), "what kind of object this is"),
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
            "that the receiver ends", by: ["receive"],
            [
                Field("event", .word(["end"]), "what kind of object this is"),
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
            .maybe("interruptions", .count, "how often a run died with it"),
            .maybe("due", .time, "the time of the next attempt, by the schedule"),
            .maybe("notBefore", .time, "the time before which a run does not send it"),
            Field("header", .map(.anything), "the first line of its file, byte for byte, without the checksum"),
            .maybe("payload", .anything, "the body, byte for byte, if it is JSON on one line"),
            .maybe("bodyBase64", .text, "the body, if it is anything else"),
            .maybe("history", .list(.map(.anything)), "the attempts, each as its line in the file"),
        ])
}
