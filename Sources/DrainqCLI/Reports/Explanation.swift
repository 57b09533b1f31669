import Policy

/// The meaning of one answer on a route: the object of `explain --json`, schema 1, and its text.
struct Explanation: Encodable {
    var answer: String
    var route: RouteView
    var outcome: String
    var rule: String
    /// The file and the line of the rule; only of one that is written in a file.
    var written: String?
    /// Rules that decide instead where the answer has in it what they ask for; only where the status alone is known.
    var unless: [WrittenRule]?
    /// What has to be true of the answer besides, and what it means otherwise; only of a delivery.
    var provided: String?
    var otherwise: String?
    /// What a batch's answer means for each of its operations.
    var members: [MemberView]?
    /// What becomes of the operation.
    var operation: String
    var countsAttempt: Bool
    /// Who is to blame; only of what is no delivery.
    var accused: String?
    /// What becomes of the destination, a sentence each; `it` is the destination.
    var destination: [String]
    /// When the next attempts are; only where there is one.
    var retry: ScheduleView?
}

/// A rule of `answers`, and where it is written.
struct WrittenRule: Encodable {
    var rule: String
    var written: String?

    init(_ rule: AnswerRule, on explained: ExplainedRoute) {
        self.rule = rule.description
        written = explained.place(of: rule)
    }

    /// `answers[2]: status 409, /code equals "23505": deliver (drainq.json:14)`
    var text: String { rule + (written.map { " (\($0))" } ?? "") }
}

/// The meaning of an answer for one operation of a batch.
struct MemberView: Encodable {
    var outcome: String
    var rule: String
    var written: String?

    init(_ verdict: Verdict, on explained: ExplainedRoute) {
        outcome = verdict.outcome.rawValue
        rule = verdict.rule.description
        written = explained.place(of: verdict.rule.match?.rule)
    }
}

/// The route that is explained.
struct RouteView: Encodable {
    var type: String
    var method: String
    /// A template, without the values of secrets.
    var url: String?
    /// How its bodies are compressed; none where they are not.
    var compress: String?
    var destination: String
    var transport: String?
    /// Why this transport; or, without one, why none can do it.
    var transportReason: String
    /// The names of the values of earlier answers that its requests send.
    var sendsKept: [String]?
    /// Those of them that are not there for the key in question; only where there is one.
    var lacksKept: [String]?
}

/// A schedule in numbers and words.
struct ScheduleView: Encodable {
    /// The first ones, without jitter.
    var delays: [String]
    /// The delay that repeats after those; none where the attempts end before.
    var thenEvery: String?
    var jitter: Double
    var attemptsAllowed: Int?
    var maxAge: String?

    private static let shown = 8

    init(_ schedule: BackoffSchedule) {
        let most = schedule.attempts.map { $0 -| 1 } ?? .max
        var durations: [Duration] = []
        while durations.count < min(most, Self.shown), !schedule.isSteady(after: durations) {
            durations.append(schedule.delay(afterAttempt: durations.count + 1))
        }
        delays = durations.map(\.quantity)
        thenEvery =
            durations.count < most && schedule.isSteady(after: durations) ? durations.last?.quantity : nil
        jitter = schedule.jitter
        attemptsAllowed = schedule.attempts
        maxAge = schedule.maxAge?.quantity
    }

    /// `after 30s, 2m, 10m, then every 12h, ±20 %; given up when it is 3d old`
    var text: String {
        var text = delays.isEmpty ? "no further attempt" : "after " + delays.joined(separator: ", ")
        if let thenEvery {
            text += ", then every \(thenEvery)"
        } else if attemptsAllowed.map({ $0 - 1 > delays.count }) ?? true {
            text += ", …"
        }
        if jitter > 0 { text += ", ±\(Int(saturating: (jitter * 100).rounded())) %" }
        let ends = [attemptsAllowed.map { "after \($0) attempts" }, maxAge.map { "when it is \($0) old" }]
        let given = ends.compactMap(\.self).joined(separator: " or ")
        return text + (given.isEmpty ? "; never given up" : "; given up \(given)")
    }
}

extension BackoffSchedule {
    /// Whether after these delays, its first ones, all others are as the last of them.
    fileprivate func isSteady(after durations: [Duration]) -> Bool {
        switch delays {
        case .list(let list): durations.count >= list.count
        case .exponential(let base, let multiplier, let longest):
            durations.last == (multiplier > 1 ? longest : base)
        }
    }
}

extension Explanation {
    /// What `answer` means on the route of a type; `answer` is one status, an error, or on a callable route a canonical
    /// status.
    init(_ answer: AnswerPattern, on explained: ExplainedRoute) {
        let verdict = explained.verdict(on: answer)
        self.init(answer.description, explained.report(of: answer), verdict, on: explained)
        if let (provided, otherwise) = explained.acceptance(of: verdict) {
            self.provided = provided
            self.otherwise = otherwise.rawValue
        }
        let rules = explained.rulesBefore(verdict)
        if !rules.isEmpty { unless = rules.map { WrittenRule($0, on: explained) } }
        if otherwise == Outcome.deferred.rawValue { retry = ScheduleView(explained.route.retry) }
    }

    /// What a whole answer means that came, or would come, at `now`.
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
        // The answer says when.
        if verdict.isOnlyAskedToWait { retry = nil }
    }

    private init(_ answer: String, _ report: SealedReport, _ verdict: Verdict, on explained: ExplainedRoute) {
        let route = explained.route
        self.init(
            answer: answer, route: explained.view, outcome: verdict.outcome.rawValue,
            rule: verdict.rule.description, written: explained.place(of: verdict.rule.match?.rule),
            operation: explained.operation(after: verdict),
            countsAttempt: explained.countsAttempt(verdict), accused: verdict.accused()?.rawValue,
            destination: explained.destination(after: report, verdict))
        if verdict.outcome == .deferred {
            retry = ScheduleView(verdict.isRateLimited ? route.retryRateLimited ?? route.retry : route.retry)
        }
    }

    /// Lines for a person.
    var lines: [String] {
        var lines = ["\(answer) on the route '\(route.type)': \(outcome)"]
        func say(_ name: String, _ text: String) {
            let indent = String(repeating: " ", count: 14)
            for (index, line) in text.wrapped(to: 66).enumerated() {
                lines.append(index == 0 ? "  \(name)".padded(to: 14) + line : indent + line)
            }
        }
        say("rule", rule)
        if let written { say("written in", written) }
        for (index, rule) in (unless ?? []).enumerated() { say(index == 0 ? "unless" : "", rule.text) }
        for (index, member) in (members ?? []).enumerated() {
            say(index == 0 ? "operations" : "", "\(index + 1). \(member.outcome): \(member.rule)")
        }
        if let provided, let otherwise { say("provided", "\(provided); otherwise it is \(otherwise)") }
        if let accused = accused.flatMap(Accused.init) { say("to blame", accused.inWords) }
        say("operation", operation)
        say("destination", route.destination)
        for sentence in destination { say("", sentence) }
        if let retry { say("next", retry.text) }
        say("request", route.request)
        if let kept = route.keptText { say("waits for", kept) }
        say("transport", route.transportText)
        return lines
    }
}

extension RouteView {
    /// `POST https://api.example.com/v1/{type}`
    var request: String {
        "\(method) \(url ?? "to the operation's own url: the route has none")" + (compress.map { " (\($0))" } ?? "")
    }
    /// `{kept.note}, {kept.version} of earlier answers for its key; not there for this one: {kept.version}`; `nil` where it
    /// sends none.
    var keptText: String? {
        func list(_ names: [String]) -> String { names.map { "{kept.\($0)}" }.joined(separator: ", ") }
        guard let sendsKept else { return nil }
        let text = "\(list(sendsKept)), of earlier answers for its key"
        guard let lacksKept else { return text + ": --key KEY looks them up" }
        return text + (lacksKept.isEmpty ? "; all are there" : "; not there: \(list(lacksKept))")
    }
    var transportText: String { (transport.map { "\($0): " } ?? "none: ") + transportReason }
}
