import Drain
import Policy
import Spool

/// An operation in `list --json` and `run --dry-run --json`.
struct EntryView: JSONObject {
    let entry: Entry
    let destination: String
    let route: Route
    var isHeldWithOthers = false
    /// The operation; `nil` if its file has not been read.
    var operation: Operation?
    var waitsFor: WaitView?
    var destinationHold: HoldView?

    static let states = ShownState.allCases.filter { $0 != .quarantined }.map(\.rawValue)

    static let fields: [JSONField<EntryView>] = [
        .field("id", .text, "the id of the operation", \.name.id.description),
        .field("type", .text, "the type of the operation", \.name.type.description),
        .field("state", .word(states), "the state of the operation", \.state.rawValue),
        .field("destination", .text, "the destination, by the present configuration", \.destination),
        .maybe("key", .text, "the key of the operation", \.operation?.header.key),
        .field("createdAt", .time, "the time of its creation", \.name.createdAt),
        .maybe("due", .time, "the time of the next attempt, by the schedule", \.due),
        .maybe("notBefore", .time, "the time before which a run does not send it, as given to `add`", \.notBefore),
        .field("attempts", .count, "the attempts that were counted", \.name.attempts),
        .maybe("attemptsAllowed", .count, "the number of attempts after which it fails", \.attemptsAllowed),
        .maybe(
            "interruptions", .count, "the number of runs that died with it claimed since its last finished attempt",
            \.interruptions),
        .maybe("lastStatus", .count, "the status of the last answer", \.last?.status),
        .maybe("lastError", .text, "the name of the error, if there was no usable answer", \.last?.error),
        .maybe("lastAttempt", .time, "the start of the last attempt", \.last?.at),
        .maybe("rule", .text, "the rule that decided", \.last?.rule),
        .field("path", .text, "its file in the queue directory", \.entry.path),
        .maybe("run", .text, "the run that has claimed it", \.entry.claimedBy),
        .maybe("waitsFor", .object(WaitView.self), "the reason why a run does not send it now", \.waitsFor),
        .maybe("destinationHold", .object(HoldView.self), "the hold of its destination", \.destinationHold),
    ]

    var name: EntryName { entry.name }
    var state: ShownState { ShownState(of: entry, isHeldWithOthers: isHeldWithOthers) }
    var last: AttemptRecord? { operation?.attempts.last }
    var interruptions: Int? { name.interruptions > 0 ? name.interruptions : nil }

    var due: Timestamp? {
        if case .retryAt(let moment) = name.gate { moment } else { nil }
    }

    private var notBefore: Timestamp? {
        if case .notBefore(let moment) = name.gate { moment } else { nil }
    }

    var attemptsAllowed: Int? { route.attemptsAllowed(after: operation?.attempts ?? [], counted: name.attempts) }

    /// The number of attempts: `3 of 8`, or the count alone if only the age ends them.
    var attemptsInWords: String { attemptsAllowed.map { "\(name.attempts) of \($0)" } ?? "\(name.attempts)" }
}

/// One line of `show --json`: the members of `list`, and the whole operation.
struct OperationDetails: JSONObject {
    var entry: EntryView
    var operation: Operation

    static let fields: [JSONField<OperationDetails>] =
        EntryView.fields.map { $0.of(\.entry) } + [
            .maybe("method", .text, "the operation's own method", \.header.method),
            .maybe("url", .text, "the operation's own URL", \.header.url),
            .maybe("contentType", .text, "the media type of the body", \.header.contentType),
            .maybe("expiresAt", .time, "the time at which it fails if it is not delivered") {
                $0.header.expiresAt?.rfc3339
            },
            .maybe("idempotencyKey", .text, "the idempotency key, if it is not the id", \.header.idempotencyKey),
            .maybe("bodyFile", .text, "the file that is the body", \.header.bodyFile?.path),
            .field("bodyLength", .count, "the bytes of the body") {
                $0.header.bodyFile?.length ?? $0.operation.body.count
            },
            .maybe("body", .text, "the body, if it is UTF-8 and not in a body file") {
                $0.header.bodyFile == nil ? String(validating: $0.operation.body, as: UTF8.self) : nil
            },
            .field("history", .list(.object(RecordView.self)), "the attempts, the first one first") {
                $0.operation.attempts.map { RecordView(record: $0) }
            },
            .maybe(
                "answer", .object(KeptAnswer.self), "the answer to the delivery, if `keepAnswer` keeps it",
                \.operation.keptAnswer),
        ]

    private var header: OperationHeader { operation.header }
}

struct HoldView: JSONObject {
    var hold: DestinationState.Hold

    var reason: String { hold.reason }

    static let fields: [JSONField<HoldView>] = [
        .field("reason", .text, "the reason of the hold: the rule, with the beginning of the answer", \.hold.reason),
        .maybe("status", .count, "the status of the answer that it is for", \.hold.shownCause.status),
        .maybe("error", .text, "the name of the error that it is for", \.hold.shownCause.error),
        .maybe("words", .text, "the words of that answer, of a rule, or of the operator", \.hold.shownCause.words),
        .field("since", .time, "the start of the hold", \.hold.since),
        .field("byHand", .flag, "whether a person holds it", \.hold.isByHand),
    ]
}

/// An attempt in the history of an operation.
struct RecordView: JSONObject {
    var record: AttemptRecord

    static let outcomes = Outcome.allCases.map(\.rawValue)

    static let fields: [JSONField<RecordView>] = [
        .field("at", .time, "the start of the attempt", \.record.at),
        .field("durationMs", .count, "the duration in milliseconds") {
            Int(clamping: $0.record.duration.wholeMicroseconds / 1000)
        },
        .field("outcome", .word(outcomes), "the outcome", \.record.outcome.rawValue),
        .maybe("status", .count, "the status of the answer", \.record.status),
        .maybe("error", .text, "the name of the error", \.record.error),
        .field("rule", .text, "the rule that decided, in words", \.record.rule),
        .maybe(
            "ruleCode", .word(Rule.Code.allCases.map(\.rawValue)), "the kind of the rule, unless it is about answers",
            \.record.ruleCode?.rawValue),
        .maybe("retryAfter", .count, "the seconds that the server asked for", \.record.retryAfter),
        .maybe(
            "excerpt", .text, "the beginning of the answer, without secrets and control characters", \.record.excerpt),
        .maybe(
            "accused", .word(Accused.allCases.map(\.rawValue)),
            "what the attempt counts against, if it is not a delivery", \.record.accused?.rawValue),
        .field("counted", .flag, "whether it counts as an attempt of the operation", \.record.counted),
        .maybe("interruptions", .count, "the number of runs that died with it in flight before this attempt") {
            $0.record.interruptions > 0 ? $0.record.interruptions : nil
        },
    ]
}

extension KeptAnswer: JSONObject {
    static let fields: [JSONField<KeptAnswer>] =
        [.maybe("contentType", .text, "its media type", \.contentType)] + JSONField.bytes("body", "its body", \.body)
        + [
            .maybe("cut", .flag, "true if it was longer than answerLimit, or could not be read whole") {
                $0.isCut ? true : nil
            }
        ]
}
