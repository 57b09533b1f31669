import Policy

/// The meaning of every answer on a route: the object of `explain --json` without an answer, schema 1, and its text.
struct AnswerTable: JSONObject {
    /// Consecutive answers that one rule decides alike.
    struct Row: JSONObject {
        /// The answers: `404`, `500-599`, `timeout`.
        var answers: String
        var outcome: String
        var rule: String
        /// Whether the rule is one of `classify`.
        var isOwn: Bool

        static let fields: [JSONField<Row>] = [
            .field("answers", .text, "a status, a range of them, or an error", \.answers),
            .field("outcome", .word(RecordView.outcomes), "the outcome", \.outcome),
            .field("rule", .text, "the rule that decides", \.rule),
        ]
    }

    var route: ExplainedRoute
    /// The rules of the route that decide first, in their order.
    var rules: [WrittenRule]?
    var answers: [Row]
    var provided: String?
    var otherwise: String?
    var retry: ScheduleView
    var retryRateLimited: ScheduleView?
    var expiresAfter: String?

    static let fields: [JSONField<AnswerTable>] = [
        .field("route", .object(ExplainedRoute.self), "the route", \.route),
        .maybe("rules", .list(.object(WrittenRule.self)), "the `answers` of the route, which decide first", \.rules),
        .field("answers", .list(.object(Row.self)), "the outcome of each answer", \.answers),
        .maybe("provided", .text, "the condition that a 2xx must meet besides", \.provided),
        .maybe("otherwise", .word(RecordView.outcomes), "the outcome if it does not", \.otherwise),
        .field("retry", .object(ScheduleView.self), "the schedule of the next attempts", \.retry),
        .maybe("retryRateLimited", .object(ScheduleView.self), "the schedule after 429", \.retryRateLimited),
        .maybe("expiresAfter", .text, "the age at which an operation fails", \.expiresAfter),
    ]
}

extension AnswerTable {
    init(of explained: ExplainedRoute) {
        var rows: [(first: Int, last: Int, outcome: Outcome, rule: String, isOwn: Bool)] = []
        for status in 100...599 {
            let verdict = explained.verdict(on: .statuses(status...status))
            // The rule without its own status: of `status 503: default 500-599 defers` the part after the colon.
            let rule = verdict.rule.description.trimmingPrefix("status \(status): ")
            if let last = rows.last, last.outcome == verdict.outcome, last.rule == rule {
                rows[rows.count - 1].last = status
            } else {
                rows.append((status, status, verdict.outcome, String(rule), verdict.rule.isOfClassify))
            }
        }
        let statuses = rows.map { row in
            Row(
                answers: row.first == row.last ? "\(row.first)" : "\(row.first)-\(row.last)",
                outcome: row.outcome.rawValue, rule: row.rule, isOwn: row.isOwn)
        }
        let names = AnswerPattern.errorNames(on: explained.route)
        let errors = names.compactMap { AnswerPattern($0) }.map { match in
            let verdict = explained.verdict(on: match)
            return Row(
                answers: match.description, outcome: verdict.outcome.rawValue, rule: verdict.rule.description,
                isOwn: verdict.rule.isOfClassify)
        }
        let acceptance = explained.acceptance(of: explained.verdict(on: .statuses(200...200)))
        let route = explained.route
        self.init(
            route: explained,
            rules: route.answers.isEmpty ? nil : route.answers.map { WrittenRule($0, on: explained) },
            answers: statuses + errors, provided: acceptance?.provided,
            otherwise: acceptance?.otherwise.rawValue, retry: ScheduleView(route.bounds(isRateLimited: false)),
            retryRateLimited: route.retryRateLimited.map { _ in ScheduleView(route.bounds(isRateLimited: true)) },
            expiresAfter: route.expiresAfter?.quantity)
    }

    /// The lines for people: a list for each outcome, and the route's own rules.
    var lines: [String] {
        var lines = ["route '\(route.type)': \(route.request)", "destination: \(route.destination.name)", ""]
        if let held = route.heldText { lines.say("destination", held) }
        for (index, rule) in (rules ?? []).enumerated() { lines.say(index == 0 ? "first" : "", rule.text) }
        for outcome in Outcome.allCases {
            let list = answers.filter { $0.outcome == outcome.rawValue }.map(\.answers)
            if list.isEmpty { continue }
            lines.say(outcome.rawValue, list.joined(separator: ", "))
            if outcome == .delivered, let provided, let otherwise {
                lines.say("", "2xx provided that \(provided); otherwise \(otherwise)")
            }
        }
        let own = answers.filter(\.isOwn).map(\.rule)
        if !own.isEmpty { lines.say("own rules", Set(own).sorted().joined(separator: ", ")) }
        lines.say("next", retry.text)
        if let retryRateLimited { lines.say("after 429", retryRateLimited.text) }
        if let expiresAfter { lines.say("expires", "when it is \(expiresAfter) old") }
        if let kept = route.keptText { lines.say("waits for", kept) }
        lines.say("transport", route.transportText)
        return lines
    }
}

extension Rule {
    /// Whether a rule of the route's `classify` decided.
    fileprivate var isOfClassify: Bool {
        if case .classify = match?.rule.origin { true } else { false }
    }
}
