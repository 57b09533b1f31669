import Policy

/// The meaning of one answer on a route: the object of `explain --json`, schema 1, and its text.
struct Explanation: JSONObject {
    var answer: String
    var route: ExplainedRoute
    var outcome: String
    var rule: String
    var written: String?
    var limit: String?
    var unless: [WrittenRule]?
    var provided: String?
    var otherwise: String?
    var members: [MemberView]?
    var operation: String
    var countsAttempt: Bool
    var accused: String?
    var destination: [String]
    var retry: ScheduleView?

    static let fields: [JSONField<Explanation>] = [
        .field("answer", .text, "the status or error", \.answer),
        .field("route", .object(ExplainedRoute.self), "the route", \.route),
        .field("outcome", .word(RecordView.outcomes), "the outcome", \.outcome),
        .field("rule", .text, "the rule that decides", \.rule),
        .maybe("written", .text, "the file and the line of the rule, if it is written in a file", \.written),
        .maybe("limit", .text, "the time limit that ends an attempt with this error", \.limit),
        .maybe(
            "unless", .list(.object(WrittenRule.self)),
            "rules that decide instead if the answer meets their conditions; not with --answer", \.unless),
        .maybe("provided", .text, "the condition that the answer must meet besides", \.provided),
        .maybe("otherwise", .word(RecordView.outcomes), "the outcome if it does not", \.otherwise),
        .maybe(
            "members", .list(.object(MemberView.self)),
            "what the answer to a batch means for each of its operations; only with --answer", \.members),
        .field("operation", .text, "the effect on the operation", \.operation),
        .field("countsAttempt", .flag, "whether it counts as an attempt", \.countsAttempt),
        .maybe(
            "accused", .word(Accused.allCases.map(\.rawValue)), "what the attempt counts against, if not a delivery",
            \.accused),
        .field("destination", .list(.text), "the effects on the destination, a sentence each", \.destination),
        .maybe("retry", .object(ScheduleView.self), "the schedule of the next attempts", \.retry),
    ]
}

/// A rule of `answers`, and the place where it is written.
struct WrittenRule: JSONObject {
    var rule: String
    var written: String?

    static let fields: [JSONField<WrittenRule>] = [
        .field("rule", .text, "the rule", \.rule),
        .maybe("written", .text, "its file and line", \.written),
    ]

    init(_ rule: AnswerRule, on explained: ExplainedRoute) {
        self.rule = rule.description
        written = explained.place(of: rule)
    }

    /// The rule and its place: `answers[2]: status 409, /code equals "23505": deliver (drainq.json:14)`.
    var text: String { rule + (written.map { " (\($0))" } ?? "") }
}

/// The meaning of an answer for one operation of a batch.
struct MemberView: JSONObject {
    var outcome: String
    var rule: String
    var written: String?

    static let fields: [JSONField<MemberView>] = [
        .field("outcome", .word(RecordView.outcomes), "the outcome", \.outcome),
        .field("rule", .text, "the rule that decides", \.rule),
        .maybe("written", .text, "the file and the line of the rule", \.written),
    ]

    init(_ verdict: Verdict, on explained: ExplainedRoute) {
        outcome = verdict.outcome.rawValue
        rule = verdict.rule.description
        written = explained.place(of: verdict.rule.match?.rule)
    }
}

/// A schedule in numbers and words.
struct ScheduleView: JSONObject {
    var delays: [String]
    var thenEvery: String?
    var jitter: Double
    var attemptsAllowed: Int?
    var maxAge: String?
    var lifetime: String?
    /// Whether there are more delays, other than these.
    private var hasMore: Bool

    private static let shown = 8

    static let fields: [JSONField<ScheduleView>] = [
        .field("delays", .list(.text), "the first delays, without jitter", \.delays),
        .maybe("thenEvery", .text, "each delay after those", \.thenEvery),
        .field("jitter", .number, "how much shorter or longer each is at most, as a fraction of it", \.jitter),
        .maybe("attemptsAllowed", .count, "the number of attempts after which it fails", \.attemptsAllowed),
        .maybe("maxAge", .text, "the age at which it fails", \.maxAge),
        .maybe("lifetime", .text, "the age at which it expires, if it does before the schedule ends", \.lifetime),
    ]

    init(_ bounds: Bounds) {
        let schedule = bounds.schedule
        // Those that the lifetime leaves room for, or those that the schedule allows.
        let most = ((bounds.lifetime == nil ? schedule.attempts : bounds.attemptsAllowed) ?? .max) -| 1
        var durations: [Duration] = []
        while durations.count < min(most, Self.shown), !schedule.isSteady(after: durations) {
            durations.append(schedule.delay(afterAttempt: durations.count + 1))
        }
        delays = durations.map(\.quantity)
        let isSteady = schedule.isSteady(after: durations)
        thenEvery = durations.count < most && isSteady ? durations.last?.quantity : nil
        hasMore = durations.count < most && !isSteady
        jitter = schedule.jitter
        attemptsAllowed = schedule.attempts
        maxAge = schedule.maxAge?.quantity
        lifetime = bounds.lifetime?.quantity
    }

    /// The schedule in words: `after 30s, 2m, 10m, then every 12h, ±20 %; fails when it is 3d old`.
    var text: String {
        var text = delays.isEmpty ? "no further attempt" : "after " + delays.joined(separator: ", ")
        if let thenEvery {
            text += ", then every \(thenEvery)"
        } else if hasMore {
            text += ", …"
        }
        if jitter > 0, !delays.isEmpty { text += ", ±\(Int(saturating: (jitter * 100).rounded())) %" }
        let ends = [
            attemptsAllowed.map { "after \(InWords.count($0, "attempt"))" },
            lifetime.map { "unsent when it is \($0) old" },
            lifetime == nil ? maxAge.map { "when it is \($0) old" } : nil,
        ]
        let end = ends.compactMap(\.self).joined(separator: " or ")
        return text + (end.isEmpty ? "; no limit of attempts or age" : "; fails \(end)")
    }
}

extension BackoffSchedule {
    /// Whether every delay after these first ones equals the last of them.
    fileprivate func isSteady(after durations: [Duration]) -> Bool {
        switch delays {
        case .list(let list): durations.count >= list.count
        case .exponential(let base, let multiplier, let longest):
            durations.last == (multiplier > 1 ? longest : base)
        }
    }
}

extension Explanation {
    /// Explains what `answer` means on the route of a type: a status, an error, or a callable function's code.
    init(_ answer: AnswerPattern, on explained: ExplainedRoute) {
        let verdict = explained.verdict(on: answer)
        self.init(answer.description, explained.report(of: answer), verdict, on: explained)
        if let (provided, otherwise) = explained.acceptance(of: verdict) {
            self.provided = provided
            self.otherwise = otherwise.rawValue
        }
        if case .error(let error) = answer, let (key, value) = explained.route.timeouts.limit(behind: error) {
            limit = "\(key), \(value.quantity)"
        }
        let rules = explained.rulesBefore(verdict)
        if !rules.isEmpty { unless = rules.map { WrittenRule($0, on: explained) } }
        if otherwise == Outcome.deferred.rawValue { retry = ScheduleView(explained.route.bounds(isRateLimited: false)) }
    }

    /// Explains a whole answer that arrives at `now`.
    init(_ answer: AttemptReport.Answer, on explained: ExplainedRoute, now: Timestamp) {
        let route = explained.route
        let report = SealedReport(AttemptReport(result: .answer(answer), duration: .zero), .none)
        let verdict = Classification.verdict(on: report, route: route, now: now)
        self.init("\(answer.status)", report, verdict, on: explained)
        let each = route.batch.flatMap { batch in
            let members = batch.results?.members(in: answer, most: batch.max) ?? []
            return batch.verdicts(on: report, members: members, route: route, now: now)
        }
        members = each?.map { MemberView($0, on: explained) }
        let later = Classification.verdict(on: report, route: route, mayHaveArrived: true, now: now)
        if later.rule != verdict.rule, let rule = later.rule.match?.rule { unless = [WrittenRule(rule, on: explained)] }
        // The answer names the time of the next attempt.
        if verdict.isOnlyAskedToWait { retry = nil }
    }

    private init(_ answer: String, _ report: SealedReport, _ verdict: Verdict, on explained: ExplainedRoute) {
        let route = explained.route
        self.init(
            answer: answer, route: explained, outcome: verdict.outcome.rawValue,
            rule: verdict.rule.description, written: explained.place(of: verdict.rule.match?.rule),
            operation: explained.effectOnOperation(after: verdict),
            countsAttempt: explained.countsAttempt(verdict), accused: verdict.accused()?.rawValue,
            destination: explained.effectsOnDestination(after: report, verdict))
        if verdict.outcome == .deferred {
            retry = ScheduleView(route.bounds(isRateLimited: verdict.isRateLimited))
        }
    }

    var lines: [String] {
        var lines = ["\(answer) on the route '\(route.type)': \(outcome)"]
        lines.say("rule", rule)
        if let written { lines.say("written in", written) }
        if let limit { lines.say("time limit", limit) }
        for (index, rule) in (unless ?? []).enumerated() { lines.say(index == 0 ? "unless" : "", rule.text) }
        for (index, member) in (members ?? []).enumerated() {
            lines.say(index == 0 ? "operations" : "", "\(index + 1). \(member.outcome): \(member.rule)")
        }
        if let provided, let otherwise { lines.say("provided", "\(provided); otherwise it is \(otherwise)") }
        if let accused = accused.flatMap(Accused.init) { lines.say("to blame", accused.inWords) }
        lines.say("operation", operation)
        lines.say("destination", route.destination.name)
        for sentence in destination { lines.say("", sentence) }
        if let held = route.heldText { lines.say("", held) }
        if let retry { lines.say("next", retry.text) }
        lines.say("request", route.request)
        if let kept = route.keptText { lines.say("waits for", kept) }
        lines.say("transport", route.transportText)
        return lines
    }
}

extension [String] {
    /// Adds a text to the lines of an explanation, wrapped, with its name before the first line.
    mutating func say(_ name: String, _ text: String) {
        let indent = String(repeating: " ", count: 14)
        for (index, line) in text.wrapped(to: 66).enumerated() {
            append(index == 0 ? "  \(name)".padded(to: 14) + line : indent + line)
        }
    }
}
