import Policy

/// A route with everything that decides what its answers mean, and words for it.
struct ExplainedRoute {
    let type: TypeName
    let route: Route
    let destination: Destination
    let settings: DestinationSettings
    let retention: Retention
    let available: [Transport]

    init(of type: TypeName, in configuration: Configuration, available: [Transport]) {
        self.type = type
        route = configuration.route(of: type)
        let table = DestinationTable(configuration)
        destination = table.destination(
            of: EntryName(createdAt: Timestamp(microseconds: 0), id: OperationID("0")!, type: type))
        settings = table.settings(of: destination)
        retention = configuration.retention
        self.available = available
    }

    var view: RouteView {
        var view = RouteView(
            type: type.description, method: route.method, url: route.url, destination: destination.name,
            transportReason: "")
        do throws(RequestError) {
            let choice = try route.transportChoice(settings: settings, available: available)
            view.transport = choice.transport.rawValue
            view.transportReason = choice.reason
        } catch {
            view.transportReason = "\(error)"
        }
        return view
    }

    // MARK: - Verdicts

    /// By the status or error alone: of an answer's content nothing is known here.
    func verdict(on answer: ClassificationOverride.Match) -> Verdict {
        switch answer {
        case .statuses(let range): Classification.verdict(onStatus: range.lowerBound, route: route)
        case .error(let error): Classification.verdict(on: error, route: route)
        case .canonical:
            Classification.verdict(on: report(of: answer), route: route, now: Timestamp(microseconds: 0))
        }
    }

    private func report(of answer: ClassificationOverride.Match) -> SealedReport {
        SealedReport(attempt(of: answer), .none)
    }

    private func attempt(of answer: ClassificationOverride.Match) -> AttemptReport {
        switch answer {
        case .statuses(let range):
            AttemptReport(result: .answer(AttemptReport.Answer(status: range.lowerBound)), duration: .zero)
        case .error(let error): AttemptReport(result: .failure(error, detail: ""), duration: .zero)
        case .canonical(let canonical):
            AttemptReport(
                result: .answer(
                    AttemptReport.Answer(
                        status: 200, body: Array(#"{"error":{"status":"\#(canonical.rawValue)"}}"#.utf8))),
                duration: .zero)
        }
    }

    /// What must be true of a 2xx besides, in words, and what it is otherwise.
    func acceptance(of answer: ClassificationOverride.Match) -> (provided: String, otherwise: Outcome)? {
        guard case .statuses(let range) = answer, (200...299).contains(range.lowerBound) else { return nil }
        var conditions: [String] = []
        if route.protocol == .callable { conditions.append("it has a result and no error") }
        if let accept = route.accept {
            if let type = accept.contentType { conditions.append("its content type is \(type)") }
            conditions += accept.json.map(\.description)
        }
        if conditions.isEmpty { return nil }
        return (conditions.joined(separator: " and "), route.accept?.otherwise ?? .deferred)
    }

    // MARK: - What follows

    /// Whether one more of the attempts is used up.
    func countsAttempt(_ verdict: Verdict) -> Bool {
        verdict.outcome != .delivered && verdict.countsAttempt
    }

    func operation(after verdict: Verdict) -> String {
        switch verdict.outcome {
        case .delivered:
            retention.delivered > .zero
                ? "it is kept in delivered/ for \(retention.delivered.quantity)" : "it is done: its file is removed"
        case .deferred where verdict.isUntouched:
            "it stays as it is, due at once, and no attempt is counted; the run sends nothing more to other machines"
        case .deferred:
            "it stays in the queue until its next attempt; this one is "
                + (countsAttempt(verdict) ? "counted" : "not counted")
        case .held where verdict.isAboutCredentials && verdict.status != nil:
            "it is parked: put back as it was, no attempt counted, until another operation with the same credentials is "
                + "answered; where that one is delivered it fails; 'drainq send' fails at once"
        case .held: "it is put back as it was; no attempt is counted"
        case .failed:
            "it goes to failed/" + (retention.failed.map { ", where it stays for \($0.quantity)" } ?? "")
                + "; 'drainq retry ID' tries it again"
        }
    }

    func destination(after answer: ClassificationOverride.Match, _ verdict: Verdict) -> [String] {
        var sentences: [String] = []
        let events = DestinationEvent.events(
            of: report(of: answer), verdict, route: route, settings: settings, blamed: nil,
            now: Timestamp(microseconds: 0))
        if events.isEmpty { sentences.append("it is not to blame, and nothing is remembered of it") }
        for event in events {
            switch event {
            case .unreachable where settings.circuitBreaker > 0:
                sentences.append(
                    "after \(settings.circuitBreaker) such failures in a row its circuit breaker opens for "
                        + "\(DestinationState.coolDown(after: 0, settings).quantity), each time twice as long, "
                        + "up to \(settings.coolDownMax.quantity)")
            case .held:
                let isShared = verdict.isAboutCredentials && verdict.status != nil
                sentences.append((isShared ? "where another operation is refused too, " : "") + holdSentence)
            case .unreachable, .answered, .delivered, .retryAfter, .probed, .disproved, .heldByHand, .released,
                .blameChanged, .paused, .resumed, .parked, .witnessed, .unparked, .failed:
                break
            }
        }
        if case .statuses(let range) = answer {
            if verdict.outcome == .deferred {
                sentences.append(
                    "a Retry-After holds back all that goes there until then, at most \(settings.retryAfterMax.quantity)"
                        + ([429, 503].contains(range.lowerBound) ? ", and then no attempt is counted" : ""))
            }
            if verdict.outcome == .failed, settings.stormGuard > 0 {
                sentences.append(
                    "where \(settings.stormGuard) answers in a row are \(range.lowerBound), in one run or in several, and so are "
                        + "those to a few others if there are any, it is held and nothing more fails")
            }
            if range.lowerBound == 401, !route.secretNames(settings: settings).isEmpty {
                sentences.append("before that, its secrets are looked up anew, once")
            }
        }
        return sentences
    }

    private var holdSentence: String {
        let probe = settings.holdProbe.map { ", until a probe is delivered (every \($0.quantity))" } ?? ""
        return "it is held until its credentials or configuration change\(probe), or until "
            + "'\(pasted("release", "--destination", destination.name))'"
    }
}
