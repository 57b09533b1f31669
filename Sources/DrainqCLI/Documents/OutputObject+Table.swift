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
        Field("id", .text, "its id"),
        Field("type", .text, "its type"),
        Field("state", .word(states), "where it is"),
        Field("destination", .text, "where it goes, by the configuration as it is now"),
        .maybe("key", .text, "what it is about"),
        Field("createdAt", .time, "when it was created"),
        .maybe("due", .time, "when the schedule has the next attempt"),
        .maybe("notBefore", .time, "before when it is not to be sent, as it was asked for"),
        Field("attempts", .count, "how many have been counted"),
        .maybe("attemptsAllowed", .count, "after how many it is given up"),
        .maybe("interruptions", .count, "how often a run died with it since the last attempt that ended"),
        .maybe("lastStatus", .count, "the status of the last answer"),
        .maybe("lastError", .text, "the name of the error, where there was no answer to go by"),
        .maybe("lastAttempt", .time, "when that attempt began"),
        .maybe("rule", .text, "what decided about it"),
        Field("path", .text, "its file, in the queue directory"),
        .maybe("run", .text, "the run that is attempting it"),
        .maybe(
            "waitsFor",
            .object([
                Field(
                    "what", .word(WaitView.words),
                    "its time, a release of its own, an older operation that goes first, a newer one that replaces it "
                        + "or that it is merged into, an older one that failed and holds it, the end of a pause of the queue, or the pause, hold, retry-after or open circuit breaker of its destination"
                ),
                .maybe("id", .text, "the other operation"),
                .maybe("until", .time, "when that is over, or a hold is probed"),
            ]), "what keeps a run from sending it now"),
    ]

    private static let operation = OutputObject("an operation", by: ["list", "run --dry-run"], entry)

    private static let record: Fields = [
        Field("at", .time, "when it began"),
        Field("durationMs", .count, "how long it took, in milliseconds"),
        Field("outcome", .word(outcomes), "what it came to"),
        .maybe("status", .count, "the status of the answer"),
        .maybe("error", .text, "the name of the error"),
        Field("rule", .text, "what decided"),
        .maybe("retryAfter", .count, "how many seconds the server asked for"),
        .maybe("excerpt", .text, "the beginning of the answer, cleaned"),
        .maybe("accused", .word(Accused.allCases.map(\.rawValue)), "who is to blame, where it was no delivery"),
        .maybe("counted", .flag, "whether it counts as an attempt, where that does not follow from the rest"),
    ]

    private static let story = OutputObject(
        "an operation with all its attempts", by: ["show"],
        entry + [
            .maybe("method", .text, "the method of its own"),
            .maybe("url", .text, "the URL of its own"),
            .maybe("contentType", .text, "the media type of the body"),
            .maybe("expiresAt", .time, "when it fails unless it is delivered"),
            .maybe("idempotencyKey", .text, "what the server sees, where it is not the id"),
            .maybe("bodyFile", .text, "the file that is the body"),
            Field("bodyLength", .count, "how many bytes the body has"),
            .maybe("body", .text, "the body, where it is UTF-8 and no file of its own"),
            Field("history", .list(.object(record)), "the attempts, the first one first"),
            .maybe(
                "destinationHold",
                .object([
                    Field("reason", .text, "why it is held"), Field("since", .time, "since when"),
                    Field("byHand", .flag, "whether a person did it"),
                ]), "that its destination is held"),
        ])

    private static let quarantined = OutputObject(
        "a file in quarantine", by: ["list", "show", "run"],
        [
            Field("event", .word(["quarantined"]), "what kind of object this is"),
            .maybe("id", .text, "the id, where the file has the name of an operation"),
            Field("state", .word(["quarantined"]), "where it is"),
            .maybe("createdAt", .time, "when the operation was created, by that name"),
            .maybe("at", .time, "when it came there"),
            .maybe("reason", .text, "why"),
            .maybe("originalName", .text, "what it was called before"),
            .maybe("source", .text, "where it came from"),
            Field("path", .text, "its file, in the queue directory"),
        ])

    // MARK: - Runs

    private static let attempt = OutputObject(
        "an attempt", by: ["run"],
        [
            Field("event", .word(["attempt"]), "what kind of object this is"),
            Field("id", .text, "the operation"),
            Field("type", .text, "its type"),
            Field("destination", .text, "where it went"),
        ] + record.filter { !["retryAfter", "counted"].contains($0.name) } + [
            Field("attempts", .count, "how many of this operation have been counted"),
            .maybe("attemptsAllowed", .count, "after how many it is given up"),
            .maybe("due", .time, "when the next one is"),
        ])

    private static let counts: Fields = [
        Field("startedAt", .time, "when the run began"),
        Field("durationMs", .count, "how long it took, in milliseconds"),
        Field("end", .text, "how it ended: `done`, `paused`, `busy`, `max-time`, a signal, or why it could not go on"),
        Field("exitStatus", .count, "its exit status"),
        Field("attempts", .count, "how many attempts were made"),
        Field("delivered", .count, "operations that were delivered"),
        Field("deferred", .count, "operations that wait for another attempt"),
        Field(
            "waiting", .count,
            "operations whose destination has its circuit breaker open, was rate limited, or lacks the network or power that `conditions` asks for"
        ),
        Field("held", .count, "operations whose destination is held"),
        Field("paused", .count, "operations whose destination is paused"),
        Field("ambiguous", .count, "operations held by themselves, because nobody knows what became of them"),
        Field("superseded", .count, "operations that a newer one has taken the place of"),
        Field("failed", .count, "operations that were given up"),
        Field("expired", .count, "those of them whose time was over"),
        Field("quarantined", .count, "files that went to quarantine"),
        Field("recovered", .count, "operations returned that runs which died had claimed"),
        Field("cutOff", .count, "attempts cut off by the end of the run"),
        Field("inputOutputErrors", .count, "errors of files and directories"),
        Field("leftDue", .count, "operations that are due still"),
        .maybe("nextDue", .time, "when the next operation is due"),
        .maybe("conditions", .text, "why network or power kept the run from attempting anything"),
        .maybe("spentMs", .object(spent), "where that time went, in milliseconds"),
    ]

    private static let spent: Fields = [
        Field("choosing", .count, "looking at what there is: recovering, taking in, listing, deciding"),
        Field("claiming", .count, "claiming and reading operations, making their requests"),
        Field("waiting", .count, "waiting for answers, for a rate, or for what comes due"),
        Field("settling", .count, "recording what came of attempts, removing and moving files"),
        Field("syncing", .count, "making it durable"),
    ]

    private static let summary = OutputObject(
        "the summary of a run", by: ["run"],
        [Field("event", .word(["summary"]), "what kind of object this is")] + counts)

    // MARK: - Status

    private static let status = OutputObject(
        "the status of the queue", by: ["status"],
        [
            Field("at", .time, "when this was so"),
            Field("queue", .text, "the queue directory"),
            Field("paused", .flag, "whether runs attempt nothing"),
            Field("states", .map(.count), "how many operations and files are in each state"),
            Field("destinations", .list(.object(destination)), "what waits for each destination"),
            Field("holds", .list(.object(hold)), "destinations that are held"),
            Field("heldByThemselves", .count, "operations that are held although their destination is not"),
            Field("heldBehindFailed", .count, "operations that are held behind one of their sequence that failed"),
            .maybe("oldest", .time, "when the oldest operation that waits was created"),
            .maybe("nextDue", .time, "when the next one may be tried"),
            Field("due", .count, "how many may be tried now"),
            Field("behind", .count, "how many wait for an older one of their sequence"),
            Field("superseded", .count, "how many a newer one stands for, which the next run removes"),
            Field("merged", .count, "how many go with a newer one, in one request"),
            .maybe("conditions", .text, "why network or power would keep a run from attempting anything"),
            Field(
                "network", .word(NetworkKind.allCases.map(\.rawValue)),
                "what this machine has of a network: none, its own subnets, a way out, or one that costs, which is looked for "
                    + "where `conditions.network` is `unmetered`"),
            Field("deliveredTotal", .count, "how many operations runs and `drainq send` have delivered in all"),
            .maybe("lastSuccess", .time, "when the last of them was delivered"),
            .maybe(
                "lastRun",
                .object([Field("event", .word(["summary"]), "what kind of object this is")] + counts),
                "the summary of the last run that had something to do"),
        ])

    private static let destination: Fields = [
        Field("destination", .text, "its name"),
        Field("new", .count, "operations never attempted"),
        Field("deferred", .count, "operations that wait for another attempt"),
        Field("held", .count, "operations that are held, or whose destination is"),
        Field("claimed", .count, "operations being attempted"),
        Field("failed", .count, "operations given up"),
        Field(
            "ages", .map(.count),
            "how many operations that wait are younger than each of `1m`, `5m`, `1h`, `6h`, `1d` and `3d` and in no younger "
                + "group, and how many are `older`"),
        .maybe("oldest", .time, "when the oldest that waits was created"),
        .maybe("nextDue", .time, "when the next one may be tried"),
        Field("paused", .flag, "whether a person has paused it"),
        .maybe("retryAfterUntil", .time, "until when its server asked for time, as by Retry-After"),
        Field(
            "circuitBreaker", .word(["closed", "open", "half-open"]),
            "open after failures in a row, half-open while one attempt is to show whether the server is back"),
        .maybe("coolDownUntil", .time, "until when the circuit breaker stays open"),
        .maybe("failures", .count, "how many failures there have been in a row"),
        .maybe("lastFailure", .text, "what the last of them was"),
        .maybe("window", .count, "how many attempts may be in flight, until it is as wide as ever"),
        .maybe("lastSuccess", .time, "when something was delivered to it last"),
    ]

    private static let hold: Fields = [
        Field("destination", .text, "its name"),
        Field("reason", .text, "why it is held"),
        Field("since", .time, "since when"),
        Field("byHand", .flag, "whether a person did it"),
        .maybe("nextProbe", .time, "when it is tried with one operation"),
        Field("operations", .count, "how many wait for it"),
    ]

    // MARK: - Input

    private static let given = [
        OutputObject(
            "what became of a line of input", by: ["add", "import"],
            [
                .maybe("id", .text, "the operation, where it is in the queue"),
                .maybe(
                    "state", .word(ShownState.allCases.map(\.rawValue)), "where it is, unless it was added just now"),
                .maybe("duplicate", .flag, "that the id was in the queue already, and nothing was done"),
                .maybe("replaced", .flag, "that it took the place of the operation of that id"),
                .maybe("error", .text, "why it was not taken"),
                .maybe("source", .text, "the file that it stood in"),
                .maybe("line", .count, "the line that it began at"),
            ]),
        OutputObject(
            "what became of an operation sent at once", by: ["send"],
            [
                .maybe("id", .text, "the operation"),
                .maybe(
                    "outcome", .word(["delivered", "queued", "deferred", "failed"]),
                    "what it came to, deferred being what --no-queue kept from being queued"),
                .maybe("status", .count, "the status of the answer"),
                .maybe("rule", .text, "what decided"),
                .maybe("error", .text, "why it was not delivered"),
                .maybe("answer", .text, "the body of the answer, or with --select that part of it, where it is UTF-8"),
                .maybe("answerBase64", .text, "the body of the answer, where it is not"),
            ]),
    ]

    private static let acting = [
        OutputObject(
            "an operation or destination that something was done to", by: ["retry", "drop", "hold", "release"],
            [
                .maybe("id", .text, "the operation"),
                .maybe("state", .word(ShownState.allCases.map(\.rawValue)), "where it was"),
                .maybe("path", .text, "the file, of what is in quarantine"),
                .maybe("due", .time, "before when it is not to be sent, with --rate"),
                .maybe("destination", .text, "the destination that was held or released"),
            ]),
        OutputObject(
            "a finding", by: ["check"],
            [
                Field("finding", .word(["ok", "note", "problem", "repaired"]), "how much it matters"),
                .maybe("damage", .word(Damage.words), "what is, or was, wrong with the directory"),
                Field("text", .text, "what was found"),
                .maybe("hint", .text, "what helps"),
            ]),
    ]

    // MARK: - Explanations

    private static let route: Fields = [
        Field("type", .text, "its type"),
        Field("method", .text, "its method"),
        .maybe("url", .text, "its URL, a template"),
        Field("destination", .text, "where it goes"),
        .maybe("transport", .word(["urlsession", "libcurl"]), "what makes its requests, unless nothing can"),
        Field("transportReason", .text, "why"),
    ]

    private static let schedule: Fields = [
        Field("delays", .list(.text), "the first delays, without jitter"),
        .maybe("thenEvery", .text, "the delay after those, on and on"),
        Field("jitter", .number, "how much is added to each at most, as a fraction of it"),
        .maybe("attemptsAllowed", .count, "after how many it is given up"),
        .maybe("maxAge", .text, "at what age it is given up"),
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
                Field("outcome", .word(outcomes), "what it means"),
                Field("rule", .text, "what decides"),
                .maybe("written", .text, "the file and the line of that, where it is written in one"),
                .maybe(
                    "unless", .list(.object(writtenRule)),
                    "rules that decide instead where the answer has in it what they ask for; not with --answer"),
                .maybe("provided", .text, "what has to be true of the answer besides"),
                .maybe("otherwise", .word(outcomes), "what it means where that is not so"),
                .maybe(
                    "members",
                    .list(
                        .object([
                            Field("outcome", .word(outcomes), "what it means"),
                            Field("rule", .text, "what decides"),
                            .maybe("written", .text, "the file and the line of that"),
                        ])), "what the answer to a batch means for each of its operations; only with --answer"),
                Field("operation", .text, "what becomes of the operation"),
                Field("countsAttempt", .flag, "whether it counts as an attempt"),
                .maybe("accused", .word(Accused.allCases.map(\.rawValue)), "who is to blame, where it is no delivery"),
                Field("destination", .list(.text), "what becomes of the destination, a sentence each"),
                .maybe("retry", .object(schedule), "when the next attempts are"),
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
                            Field("outcome", .word(outcomes), "what they mean"),
                            Field("rule", .text, "what decides"),
                        ])), "what each answer means"),
                .maybe("provided", .text, "what has to be true of a 2xx besides"),
                .maybe("otherwise", .word(outcomes), "what it means where that is not so"),
                Field("retry", .object(schedule), "when the next attempts are"),
                .maybe("retryRateLimited", .object(schedule), "when they are after 429"),
                .maybe("expiresAfter", .text, "at what age an operation fails"),
            ]),
    ]

    // MARK: - The receiver

    private static let received = [
        OutputObject(
            "that the receiver listens", by: ["receive"],
            [
                Field("event", .word(["listening"]), "what kind of object this is"),
                Field("url", .text, "where it listens"),
            ]),
        OutputObject(
            "a request that was received", by: ["receive"],
            [
                Field("event", .word(["request"]), "what kind of object this is"),
                Field("number", .count, "which request this is, from 1"),
                Field("connection", .count, "which connection it came on, from 1"),
                Field("milliseconds", .count, "when, since the start"),
                Field("method", .text, "its method"),
                Field("target", .text, "its target"),
                .maybe("idempotencyKey", .text, "its Idempotency-Key"),
                Field("headers", .list(.list(.text)), "name and value of each of its fields"),
                Field("bytes", .count, "how many bytes its body has"),
                .maybe("body", .anything, "its body, with --bodies: JSON, text, or an object with `base64`"),
            ]),
        OutputObject(
            "that the receiver ends", by: ["receive"],
            [
                Field("event", .word(["end"]), "what kind of object this is"),
                Field("by", .word(["count", "time", "signal"]), "what ended it"),
                Field("requests", .count, "how many it has answered"),
            ]),
    ]

    // MARK: - Export

    private static let exported = OutputObject(
        "an operation to be imported", by: ["export"],
        [
            Field("id", .text, "its id, as in the header"),
            Field("state", .word(["new", "deferred", "failed", "delivered"]), "where it is, or comes back to"),
            .maybe("held", .flag, "that a person holds it"),
            Field("attempts", .count, "how many have been counted"),
            .maybe("interruptions", .count, "how often a run died with it"),
            .maybe("due", .time, "when the schedule has the next attempt"),
            .maybe("notBefore", .time, "before when it is not to be sent"),
            Field("header", .map(.anything), "the first line of its file, byte for byte, without the checksum"),
            .maybe("payload", .anything, "the body, byte for byte, where it is JSON on one line"),
            .maybe("bodyBase64", .text, "the body, where it is anything else"),
            .maybe("history", .list(.map(.anything)), "the attempts, each as its line in the file"),
        ])
}
