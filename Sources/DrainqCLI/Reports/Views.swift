import Drain
import Policy
import Spool

/// The objects of every `--json`, schema 1: names are the contract, absent is absent.
struct EntryView: Encodable {
    var id: String
    var type: String
    var state: String
    var destination: String
    var key: String?
    var createdAt: String
    var due: String?
    var notBefore: String?
    var attempts: Int
    var attemptsAllowed: Int?
    var interruptions: Int?
    var lastStatus: Int?
    var lastError: String?
    var lastAttempt: String?
    var rule: String?
    var path: String
    var run: String?
    var waitsFor: WaitView?

    /// What the name alone says; `add` adds the rest.
    init(_ entry: Entry, destination: String, route: Route, isHeldWithOthers: Bool = false) {
        let name = entry.name
        id = name.id.description
        type = name.type.description
        state = ShownState(of: entry, isHeldWithOthers: isHeldWithOthers).rawValue
        self.destination = destination
        createdAt = name.createdAt.rfc3339
        switch name.gate {
        case .open: break
        case .notBefore(let moment): notBefore = moment.rfc3339
        case .due(let moment): due = moment.rfc3339
        }
        attempts = name.attempts
        attemptsAllowed = route.retry.attemptsAllowed
        interruptions = name.interruptions > 0 ? name.interruptions : nil
        path = entry.path
        run = entry.claimedBy
    }

    mutating func add(_ operation: Operation) {
        key = operation.header.key
        if let last = operation.attempts.last {
            lastStatus = last.status
            lastError = last.error
            lastAttempt = last.at.rfc3339
            rule = last.rule
        }
    }
}

/// Why a destination is held, in `show --json`.
struct HoldView: Encodable {
    var reason: String
    var since: String
    var byHand: Bool

    init(_ hold: DestinationState.Hold) {
        reason = hold.reason
        since = hold.since.rfc3339
        byHand = hold.isByHand
    }
}

struct RecordView: Encodable {
    var at: String
    var durationMs: Int
    var outcome: String
    var status: Int?
    var error: String?
    var rule: String
    var retryAfter: Int?
    var excerpt: String?
    var accused: String?
    /// Only where it does not follow from the rest.
    var counted: Bool?

    init(_ record: AttemptRecord) {
        at = record.at.rfc3339
        durationMs = Int(clamping: record.duration.wholeMicroseconds / 1000)
        outcome = record.outcome.rawValue
        status = record.status
        error = record.error
        rule = record.rule
        retryAfter = record.retryAfter
        excerpt = record.excerpt
        accused = record.accused?.rawValue
        counted = record.counted
    }
}

/// A kept answer, in `show --json`: its body as text where it is UTF-8.
struct AnswerView: Encodable {
    var contentType: String?
    var body: String?
    var bodyBase64: String?

    init(_ answer: KeptAnswer) {
        contentType = answer.contentType
        body = String(validating: answer.body, as: UTF8.self)
        bodyBase64 = body == nil ? Base64.encode(answer.body) : nil
    }
}

struct AttemptView: Encodable {
    var event = "attempt"
    var id: String
    var type: String
    var destination: String
    var at: String
    var durationMs: Int
    var outcome: String
    var status: Int?
    var error: String?
    var rule: String
    /// The beginning of an answer that was no delivery, cleaned.
    var excerpt: String?
    /// Who is to blame for an attempt that was no delivery.
    var accused: String?
    var attempts: Int
    var attemptsAllowed: Int?
    var due: String?

    init(_ event: AttemptEvent) {
        id = event.id.description
        type = event.type.description
        destination = event.destination
        at = event.record.at.rfc3339
        durationMs = Int(clamping: event.record.duration.wholeMicroseconds / 1000)
        // An older value that failed is not in failed/, where a newer one stands for it.
        outcome = event.settlement.disposition == .superseded ? "superseded" : event.record.outcome.rawValue
        status = event.record.status
        error = event.record.error
        rule = event.record.rule
        excerpt = event.record.outcome == .delivered ? nil : event.record.excerpt
        accused = event.record.accused?.rawValue
        attempts = event.attempts
        attemptsAllowed = event.attemptsAllowed
        due = event.nextDue?.rfc3339
    }
}

struct QuarantineView: Encodable {
    var event = "quarantined"
    var id: String?
    var state = "quarantined"
    var createdAt: String?
    var at: String?
    var reason: String?
    var originalName: String?
    var source: String?
    var path: String

    init(_ item: QuarantineItem) {
        id = item.name?.id.description
        createdAt = item.name?.createdAt.rfc3339
        at = item.at?.rfc3339
        reason = item.reason
        originalName = item.originalName
        source = item.source
        path = "quarantine/\(item.fileName)"
    }
}

struct SummaryView: Codable {
    var event = "summary"
    var startedAt: String
    var durationMs: Int
    var end: String
    var exitStatus: Int32
    var attempts: Int
    var delivered: Int
    var deferred: Int
    var waiting: Int
    var held: Int
    var paused: Int
    var ambiguous: Int
    var superseded: Int
    var failed: Int
    var expired: Int
    var quarantined: Int
    var recovered: Int
    var cutOff: Int
    var inputOutputErrors: Int
    var leftDue: Int
    var nextDue: String?
    var conditions: String?
    /// Absent in what older versions have written.
    var spentMs: SpentView?
    /// The same.
    var mostInFlight: Int?

    struct SpentView: Codable {
        var choosing: Int
        var claiming: Int
        var waiting: Int
        var settling: Int
        var syncing: Int

        init(_ spent: TimeSpent) {
            func milliseconds(_ activity: TimeSpent.Activity) -> Int {
                Int(clamping: spent[activity].wholeMicroseconds / 1000)
            }
            choosing = milliseconds(.choosing)
            claiming = milliseconds(.claiming)
            waiting = milliseconds(.waiting)
            settling = milliseconds(.settling)
            syncing = milliseconds(.syncing)
        }
    }

    init(_ summary: RunSummary, _ status: ExitStatus) {
        spentMs = SpentView(summary.timeSpent)
        mostInFlight = summary.mostInFlight
        startedAt = summary.startedAt.rfc3339
        durationMs = Int(clamping: summary.duration.wholeMicroseconds / 1000)
        end =
            switch summary.end {
            case .done: "done"
            case .paused: "paused"
            case .busy: "busy"
            case .timeUp: "max-time"
            case .signal(let number): "signal \(number)"
            case .broken(let reason): reason
            }
        exitStatus = status.rawValue
        attempts = summary.attempts
        delivered = summary.delivered
        deferred = summary.deferred
        waiting = summary.waiting
        held = summary.held
        paused = summary.paused
        ambiguous = summary.ambiguous
        superseded = summary.superseded
        failed = summary.failed
        expired = summary.expired
        quarantined = summary.quarantined
        recovered = summary.recovered
        cutOff = summary.cutOff
        inputOutputErrors = summary.inputOutputErrors
        leftDue = summary.leftDue
        nextDue = summary.nextDue?.rfc3339
        conditions = summary.conditions
    }

    var didSomething: Bool {
        attempts + failed + quarantined + recovered + ambiguous + superseded + inputOutputErrors > 0
    }
}

/// `3 of 8`, or the bare count where only the age ends it.
func attemptsInWords(_ view: EntryView) -> String {
    view.attemptsAllowed.map { "\(view.attempts) of \($0)" } ?? "\(view.attempts)"
}
