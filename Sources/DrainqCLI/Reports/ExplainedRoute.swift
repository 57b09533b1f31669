import Policy

/// A route with everything that decides what its answers mean, and the words that describe it.
struct ExplainedRoute {
    let type: TypeName
    let route: Route
    let destination: Destination
    let settings: DestinationSettings
    let retention: Retention
    /// The time that delivered operations of the route are kept.
    let keepsDeliveredFor: Duration
    let available: [Transport]
    /// The file of the configuration, which names a rule together with its line.
    let file: String
    /// The names of the values kept for a key; `nil` if no key is given.
    var kept: Set<String>?
    /// Why the destination is held now, with the server's words; `nil` if it is not held.
    var hold: String?
    /// Whether its requests leave over HTTP/1.1 now, because an HTTP/2 stream lost an answer.
    var needsHTTP1 = false

    init(of type: TypeName, in configuration: Configuration, available: [Transport], file: String = "drainq.json") {
        self.type = type
        route = configuration.route(of: type)
        let table = DestinationTable(configuration)
        destination = table.destination(
            of: EntryName(createdAt: Timestamp(microseconds: 0), id: OperationID("0")!, type: type))
        settings = table.settings(of: destination)
        retention = configuration.retention
        keepsDeliveredFor =
            route.keepsAnswer ? configuration.keepsDeliveredFor : configuration.retention.delivered
        self.available = available
        self.file = file
    }

    // MARK: - Verdicts

    /// Returns the verdict by the status or error alone, without the content of an answer.
    func verdict(on answer: AnswerPattern) -> Verdict {
        switch answer {
        case .statuses(let range): Classification.verdict(onStatus: range.lowerBound, route: route)
        case .error(let error): Classification.verdict(on: error, route: route)
        case .canonical:
            Classification.verdict(on: report(of: answer), route: route, now: Timestamp(microseconds: 0))
        }
    }

    func report(of answer: AnswerPattern) -> SealedReport {
        let result: AttemptReport.Result =
            switch answer {
            case .statuses(let range): .answer(.init(status: range.lowerBound))
            case .error(let error): .failure(error, detail: "")
            case .canonical(let canonical):
                .answer(.init(status: 200, body: Array(#"{"error":{"status":"\#(canonical.rawValue)"}}"#.utf8)))
            }
        return SealedReport(AttemptReport(result: result, duration: .zero), .none)
    }

    /// Returns the file and line of a rule, `/q/drainq.json:14`; `nil` if it is in no file.
    func place(of rule: AnswerRule?) -> String? {
        rule.flatMap { $0.line.number > 0 ? "\(file):\($0.line.number)" : nil }
    }

    /// Returns the rules that decide before `verdict` if an answer of this status meets their conditions.
    func rulesBefore(_ verdict: Verdict) -> [AnswerRule] {
        guard let status = verdict.status else { return [] }
        return route.answers.prefix { $0 != verdict.rule.match?.rule }.filter {
            $0.covers(status: status) && !$0.content.isEmpty
        }
    }

    /// Returns the condition that a 2xx must also meet to be delivered by default, in words, and its outcome otherwise.
    func acceptance(of verdict: Verdict) -> (provided: String, otherwise: Outcome)? {
        guard verdict.outcome == .delivered, let status = verdict.status, verdict.rule.match?.rule.origin == .standard
        else { return nil }
        let rules = route.acceptance(ofStatus: status)
        return rules.last.map { (rules.map(\.requirement).joined(separator: " and "), $0.outcome) }
    }

    // MARK: - What follows

    func countsAttempt(_ verdict: Verdict) -> Bool { verdict.outcome != .delivered && verdict.countsAttempt }

    func effectOnOperation(after verdict: Verdict) -> String {
        switch verdict.outcome {
        case .delivered:
            (keepsDeliveredFor > .zero
                ? "it is kept in delivered/ for \(keepsDeliveredFor.quantity)"
                    + (route.keepsAnswer ? ", with the answer" : "")
                : "it is done: its file is removed") + keptInWords
        case .deferred where verdict.isUntouched:
            "it stays as it is, due at once, and no attempt is counted; the run makes no more attempts to other machines"
        case .deferred:
            stay(after: verdict) + "; this one is " + (countsAttempt(verdict) ? "counted" : "not counted")
        case .held where verdict.isAboutCredentials && verdict.status != nil: parking
        case .held: "it is put back as it was; no attempt is counted"
        case .failed:
            "it goes to failed/" + (retention.failed.map { ", where it stays for \($0.quantity)" } ?? "")
                + "; 'drainq retry ID' sends it again"
        }
    }

    /// Returns where an operation stays that an answer defers.
    private func stay(after verdict: Verdict) -> String {
        let bounds = route.bounds(isRateLimited: verdict.isRateLimited)
        guard countsAttempt(verdict), bounds.attemptsAllowed == 1 else {
            return "it stays in the queue until its next attempt"
        }
        guard bounds.schedule.attempts != 1, let lifetime = bounds.lifetime else { return "it goes to failed/" }
        return "it stays in the queue until it is \(lifetime.quantity) old, before its next attempt, and fails"
    }

    /// The words for an operation whose credentials are refused.
    private var parking: String {
        if route.ordering == .strict { return "it is put back as it was; no attempt is counted" }
        let probe = settings.holdProbe.map { ", then every \($0.quantity)" } ?? ""
        return
            "it is parked: put back as it was, no attempt counted, until a run has sent another operation with the same "
            + "credentials; if that one is delivered, this one is sent again, and fails if it is refused once more; if "
            + "that one is refused too, the destination is held; if there is none, this one is sent again after "
            + "\(Parking.firstWait.quantity)\(probe); 'drainq send' fails at once"
    }

    /// Returns the effects on the destination, a sentence each.
    func effectsOnDestination(after report: SealedReport, _ verdict: Verdict) -> [String] {
        var sentences: [String] = []
        let start = Timestamp(microseconds: 0)
        let events = DestinationEvent.events(of: report, verdict, route: route, blamed: nil, began: start, now: start)
        if events.isEmpty { sentences.append("it is not to blame: its state stays the same") }
        for event in events {
            switch event {
            case .unreachable where settings.circuitBreaker > 0:
                sentences.append(
                    "after \(settings.circuitBreaker) such failures in a row its circuit breaker opens for "
                        + "\(DestinationState.coolDown(after: 0, settings).quantity), each time twice as long, "
                        + "up to \(settings.coolDown.quantity)")
            case .held:
                let isShared = verdict.isAboutCredentials && verdict.status != nil && route.ordering != .strict
                sentences.append((isShared ? "if another operation is refused too, " : "") + holdSentence)
            case .retryAfter(let until) where verdict.retryAfter != nil:
                sentences.append("runs send nothing to it for \((until - start).quantity), as the answer asks")
            case .unreachable, .answered, .delivered, .retryAfter, .probed, .disproved, .heldByHand, .released,
                .blameChanged, .paused, .resumed, .parked, .witnessed, .unparked, .failed, .overloaded, .sustained,
                .brokeStream, .missed, .looked, .unnamed:
                break
            }
        }
        if let status = report.status, verdict.canonical == nil {
            if verdict.outcome == .deferred, verdict.retryAfter == nil {
                let until =
                    verdict.rule.match?.rule.until.map { "a time at \($0), or a Retry-After," } ?? "a Retry-After"
                let isFree = [429, 503].contains(status) || verdict.rule.match?.rule.until != nil
                sentences.append(
                    "\(until) delays all its operations until then, at most \(RetryAfter.longest.quantity)"
                        + (isFree ? "; then no attempt is counted" : ""))
            }
            if verdict.outcome == .failed, settings.stormGuard > 0, case .permanent? = StormGuard<Never>.Answer(verdict)
            {
                sentences.append(
                    "if \(settings.stormGuard) answers in a row are \(status), in one run or in several, the storm guard samples a "
                        + "few other operations, if any; unless one gets a different answer, the destination is held and "
                        + "no more operations fail")
            }
        }
        if verdict.mayNeedFreshSecrets, !route.secretNames(settings: settings).isEmpty {
            sentences.append("before that, the run reads its secrets again, once")
        }
        return sentences
    }

    /// The values that the answer leaves for later operations of the key.
    private var keptInWords: String {
        if route.keep.isEmpty { return "" }
        let values = route.keep.sorted { $0.key < $1.key }.map { "{kept.\($0.key)} from '\($0.value)'" }
        return "; the queue keeps for its key \(values.joined(separator: ", "))"
    }

    private var holdSentence: String {
        let probe = settings.holdProbe.map { ", until a probe is delivered (every \($0.quantity))" } ?? ""
        return "it is held until its credentials or configuration change\(probe), or until "
            + "'\(pasted("release", "--destination", destination.name))'"
    }
}
