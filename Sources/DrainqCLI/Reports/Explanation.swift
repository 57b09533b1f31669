import Policy

/// What one answer means on a route: the object of `explain --json`, schema 1, and its text.
struct Explanation: Encodable {
    var answer: String
    var route: RouteView
    var outcome: String
    var rule: String
    /// What has to be true of the answer besides, and what it means otherwise; only of a delivery.
    var provided: String?
    var otherwise: String?
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

/// The route that is explained.
struct RouteView: Encodable {
    var type: String
    var method: String
    /// A template, without the values of secrets.
    var url: String?
    var destination: String
    var transport: String?
    /// Why this transport; or, without one, why none can do it.
    var transportReason: String
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
    init(_ answer: ClassificationOverride.Match, on explained: ExplainedRoute) {
        let verdict = explained.verdict(on: answer)
        let route = explained.route
        self.init(
            answer: answer.description, route: explained.view, outcome: verdict.outcome.rawValue,
            rule: verdict.rule.description, operation: explained.operation(after: verdict),
            countsAttempt: explained.countsAttempt(verdict), accused: verdict.accused()?.rawValue,
            destination: explained.destination(after: answer, verdict))
        if verdict.outcome == .delivered, let (provided, otherwise) = explained.acceptance(of: answer) {
            self.provided = provided
            self.otherwise = otherwise.rawValue
        }
        if verdict.outcome == .deferred || otherwise == Outcome.deferred.rawValue {
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
        if let provided, let otherwise { say("provided", "\(provided); otherwise it is \(otherwise)") }
        if let accused = accused.flatMap(Accused.init) { say("to blame", accused.inWords) }
        say("operation", operation)
        say("destination", route.destination)
        for sentence in destination { say("", sentence) }
        if let retry { say("next", retry.text) }
        say("request", route.request)
        say("transport", route.transportText)
        return lines
    }
}

extension RouteView {
    /// `POST https://api.example.com/v1/{type}`
    var request: String { "\(method) \(url ?? "to the operation's own url: the route has none")" }
    var transportText: String { (transport.map { "\($0): " } ?? "none: ") + transportReason }
}
