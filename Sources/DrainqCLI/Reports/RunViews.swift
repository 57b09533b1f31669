import Drain
import Policy
import Spool

/// An attempt in `run --json` and in the log.
struct AttemptView: JSONObject {
    private let event: AttemptEvent
    private let record: RecordView

    static let fields: [JSONField<AttemptView>] =
        [
            .event("attempt"),
            .field("id", .text, "the operation", \.event.id.description),
            .field("type", .text, "its type", \.event.type.description),
            .field("destination", .text, "the destination of the request", \.event.destination),
        ]
        + RecordView.fields.filter { !["retryAfter", "counted", "interruptions"].contains($0.documented.name) }.map {
            $0.documented.name == "outcome" ? outcome : $0.of(\.record)
        }
        + [
            .field("attempts", .count, "the attempts of this operation that were counted", \.event.attempts),
            .maybe("attemptsAllowed", .count, "the number of attempts after which it fails", \.event.attemptsAllowed),
            .maybe("due", .time, "the time of the next attempt", \.event.nextDue),
        ]

    /// A refused operation does not fail if a newer one of its key replaces it.
    private static let outcome: JSONField<AttemptView> = .field(
        "outcome", .word(RecordView.outcomes + ["superseded"]), "the outcome"
    ) {
        $0.event.settlement.disposition == .superseded ? "superseded" : $0.event.record.outcome.rawValue
    }

    init(_ event: AttemptEvent) {
        self.event = event
        var view = RecordView(record: event.record)
        if event.record.outcome == .delivered { view.record.excerpt = nil }
        record = view
    }
}

/// A file in quarantine, in `list --json`, `show --json` and `run --json`.
struct QuarantineView: JSONObject {
    var item: QuarantineItem
    /// The header of the operation that the file is, or would be; `nil` if it was not read.
    var header: OperationHeader?

    static let fields: [JSONField<QuarantineView>] = [
        .event("quarantined"),
        .maybe(
            "id", .text, "the id of the operation, if the file has its name, or `retry` would make it one",
            \.id?.description),
        .field("state", .word(["quarantined"]), "the state") { _ in "quarantined" },
        .maybe("type", .text, "the type of the operation, as far as it is known", \.type?.description),
        .maybe("key", .text, "the key of the operation, if `list` or `show` can read it", \.key),
        .maybe("createdAt", .time, "the creation of the operation, as far as it is known", \.createdAt),
        .maybe("at", .time, "the time when it went into quarantine", \.item.at),
        .maybe("reason", .text, "the reason", \.item.reason),
        .maybe("originalName", .text, "its earlier name", \.item.originalName),
        .maybe("source", .text, "its origin", \.item.source),
        .field("path", .text, "its file in the queue directory") { "quarantine/\($0.item.fileName)" },
    ]

    private var id: OperationID? { item.id ?? header.flatMap { $0.id.canBeNamed ? $0.id : nil } }
    private var type: TypeName? { item.type ?? header?.type }
    private var key: String? { header?.key ?? item.reading?.fixedKey }
    private var createdAt: Timestamp? { item.name?.createdAt ?? item.reading?.createdAt }
}

/// The summary of a run, in `run --json`, in the log, and in the queue's record of its last run.
struct SummaryView: JSONObject, Decodable {
    let counts: RunCounts
    var circumstances: Circumstances

    /// What the summary has besides counts.
    struct Circumstances: Decodable {
        var startedAt: Timestamp
        var durationMs: Int
        var end: String
        var exitStatus: Int32
        var nextDue: Timestamp?
        var conditions: String?
        /// By the name of a `TimeSpent.Activity`; `nil` in the record of an older version.
        var spentMs: [String: Int]?
        /// `nil` in the record of an older version.
        var mostInFlight: Int?
    }

    static let fields: [JSONField<SummaryView>] = [
        .event("summary"),
        .field("startedAt", .time, "the start of the run", \.circumstances.startedAt),
        .field("durationMs", .count, "the duration in milliseconds", \.circumstances.durationMs),
        .field(
            "end", .text,
            "the end of the run: `done`, `paused`, `busy`, `max-time`, a signal, or the error that ended it",
            \.circumstances.end),
        .field("exitStatus", .count, "its exit status", \.circumstances.exitStatus),
        .field("attempts", .count, "attempts that were made", \.counts.attempts),
        .field("delivered", .count, "operations that were delivered", \.counts.delivered),
        .field("deferred", .count, "operations that wait for another attempt", \.counts.deferred),
        .field(
            "waiting", .count,
            "operations whose destination has its circuit breaker open, was rate limited, or lacks the network or power that `conditions` asks for",
            \.counts.waiting),
        .field("held", .count, "operations whose destination is held", \.counts.held),
        .field("paused", .count, "operations whose destination is paused", \.counts.paused),
        .field(
            "ambiguous", .count, "operations held individually, because their outcome is unknown", \.counts.ambiguous),
        .field("superseded", .count, "operations that a newer one has replaced", \.counts.superseded),
        .field("failed", .count, "operations that failed for good", \.counts.failed),
        .field("expired", .count, "failed operations that had expired", \.counts.expired),
        .field("quarantined", .count, "files that went into quarantine", \.counts.quarantined),
        .field("recovered", .count, "operations of dead runs that were put back", \.counts.recovered),
        .field("cutOff", .count, "attempts cut off by the end of the run", \.counts.cutOff),
        .field("inputOutputErrors", .count, "errors of files and directories", \.counts.inputOutputErrors),
        .field("leftDue", .count, "operations that are still due", \.counts.leftDue),
        .maybe("nextDue", .time, "when the next operation is due", \.circumstances.nextDue),
        .maybe("conditions", .text, "the reason why `conditions` stopped all attempts", \.circumstances.conditions),
        .maybe("spentMs", .object(activities), "the use of that time, in milliseconds", \.circumstances.spentMs),
        .maybe("mostInFlight", .count, "the most attempts in flight at one moment", \.circumstances.mostInFlight),
    ]

    private static let activities: [OutputField] = [
        .init("choosing", .count, "recovering, admitting files, listing, deciding"),
        .init("claiming", .count, "claiming and reading operations, making their requests"),
        .init("waiting", .count, "waiting for answers, for a rate, or for operations to become due"),
        .init("settling", .count, "recording attempts, removing and moving files"),
        .init("syncing", .count, "syncing to the disk"),
    ]

    init(_ summary: RunSummary, _ status: ExitStatus) {
        let end =
            switch summary.end {
            case .done: "done"
            case .paused: "paused"
            case .busy: "busy"
            case .timeUp: "max-time"
            case .signal(let number): "signal \(number)"
            case .broken(let reason): reason
            }
        func milliseconds(_ duration: Duration) -> Int { Int(clamping: duration.wholeMicroseconds / 1000) }
        let spent = TimeSpent.Activity.allCases.map { ("\($0)", milliseconds(summary.timeSpent[$0])) }
        counts = summary.counts
        circumstances = Circumstances(
            startedAt: summary.startedAt, durationMs: milliseconds(summary.duration), end: end,
            exitStatus: status.rawValue, nextDue: summary.nextDue, conditions: summary.conditions,
            spentMs: Dictionary(uniqueKeysWithValues: spent), mostInFlight: summary.mostInFlight)
    }

    /// Reads the record of the last run, in which counts and circumstances are members of one object.
    init(from decoder: any Decoder) throws {
        counts = try RunCounts(from: decoder)
        circumstances = try Circumstances(from: decoder)
    }

    var didSomething: Bool {
        counts.attempts + counts.delivered + counts.failed + counts.quarantined + counts.recovered + counts.ambiguous
            + counts.superseded
            + counts.inputOutputErrors > 0
    }
}
