import CSystem
import Policy

/// Describes events in a few words.
struct EventWords {
    /// The operations by their ids; an unknown id stands for itself.
    let labels: [OperationID: Label]

    func words(for what: Event.What) -> String {
        switch what {
        case .begins(let command): "begins: \(command)"
        case .runs(let choice): "runs\(words(for: choice))"
        case .ends(let status): "ends with \(status)"
        case .endsRun(let status, let leftDue, let waits):
            "ends its run with \(status), \(leftDue) due left\(waits ? ", others wait" : "")"
        case .killed: "is killed"
        case .stopped: "is stopped"
        case .stalled: "gets no processor"
        case .woken: "goes on"
        case .interrupted: "gets a signal"
        case .cutPower: "the power is cut"
        case .damaged(let label): "the disk damages the file of #\(label)"
        case .clockStepped(let host, let step): "the clock of host \(host) steps by \(BreachStory.time(step))"
        case .refusedCall(let name, let path, let code): "gets from \(name) of \(path): \(Errno(code))"
        case .offers(let offer): "hands in \(words(for: offer))"
        case .answers(let label, let answer): "answers for #\(label): \(words(for: answer))"
        case .names(let label, let name): "puts #\(label) into the queue as \(name)"
        case .lists: "begins a listing"
        case .movesUnlocked(let from, let to, let lock): "renames '\(from)' to '\(to)' without the lock on \(lock)"
        case .receives(let request): words(for: request)
        case .replies(let number, let reply): "request \(number) is answered: \(words(for: reply))"
        case .submits(let labels): "gives a request with \(names(labels)) to its agent"
        case .takesIn(let number): "takes in the answer to request \(number)"
        case .learns(let number): "has the answer to request \(number)"
        case .loses(let number): "loses request \(number) with its agent"
        case .serverTurns(let host, let mode): "the server \(host) turns: \(mode)"
        case .network(let isThere): isThere ? "the network is there again" : "the network is gone"
        case .renewsToken: "a new token can be read"
        case .calm: "the calm end begins"
        case .reports(let report): "reports: \(words(for: report))"
        case .looks(let look): "status says: \(words(for: look))"
        case .calls(let event, let host): "calls the hook '\(event)' for \(host)"
        case .commands(let command): "commands: \(words(for: command))"
        case .changed(let id): "has changed \(name(id))"
        case .leftAlone(let id): "has left \(name(id)) alone"
        case .changedFile(let label): "has changed the file of #\(label)"
        case .exports(let label): "has saved #\(label)"
        case .done: "has done it"
        }
    }

    private func name(_ id: OperationID?) -> String {
        guard let id else { return "a file without an id" }
        return labels[id].map { "#\($0)" } ?? "\(id)"
    }

    private func names(_ labels: [Label]) -> String {
        labels.map { "#\($0)" }.joined(separator: "+")
    }

    private func words(for offer: Offer) -> String {
        let way =
            switch offer.way {
            case .add: "add"
            case .atomic(let batch): "atomic batch \(batch)"
            case .importing: "import"
            case .replacing: "import --replace"
            case .send: "send"
            case .sendUnqueued: "send --no-queue"
            case .foreign: "a rename into new/"
            case .writer: "the writer"
            }
        var words = "#\(offer.label) by \(way): \(offer.type)"
        if let key = offer.key { words += ", key \(key)" }
        if let id = offer.id { words += ", id \(id)" }
        if let time = offer.createdAt { words += ", created \(time.rfc3339)" }
        if let time = offer.notBefore { words += ", not before \(time.rfc3339)" }
        if let time = offer.expiresAt { words += ", expires \(time.rfc3339)" }
        if offer.isDeadLetter { words += ", a dead letter" }
        if offer.isStranger { words += ", as another user" }
        if !offer.isDurable { words += ", not synced" }
        return "\(words), \(offer.payload)"
    }

    private func words(for choice: RunChoice) -> String {
        var words = ""
        if let ids = choice.ids { words += " " + ids.map { name($0) }.sorted().joined(separator: " ") }
        if !choice.types.isEmpty {
            words += ", types " + choice.types.map(\.description).sorted().joined(separator: " ")
        }
        if choice.limit != RunChoice().limit { words += ", limit \(choice.limit)" }
        if choice.isNow { words += ", now" }
        if let time = choice.maxTime { words += ", for \(BreachStory.time(time))" }
        return words
    }

    private func words(for answer: Answer) -> String {
        switch answer {
        case .accepted(let name): "accepted as \(name)"
        case .duplicate: "already in the queue"
        case .full: "no room"
        case .refused: "refused"
        case .notAttempted: "not attempted"
        case .inFlight: "in flight"
        case .error(let words): "error, \(words)"
        case .delivered: "delivered"
        case .failed: "failed"
        case .queued(let isHeld): isHeld ? "queued, its destination is held" : "queued"
        case .placed: "it has its name in new/"
        }
    }

    private func words(for request: Request) -> String {
        var words = "\(request.host)\(request.path) receives request \(request.number)"
        if let sender = request.sender { words += " of \(sender)" }
        words += ": "
        words += request.bodies.map(names).joined(separator: ", ")
        if let attempt = request.attempt { words += ", attempt \(attempt)" }
        if let key = request.idempotencyKey { words += ", key \(key)" }
        return words
    }

    private func words(for reply: Reply) -> String {
        var words =
            switch reply.kind {
            case .status(let status): "\(status)"
            case .lost: "lost"
            case .agentDied: "lost, the agent dies"
            }
        if let results = reply.results { words += " \(results)" }
        if let seconds = reply.retryAfter { words += ", Retry-After \(seconds)" }
        return words + (reply.applied.isEmpty ? ", no effect" : ", effect of \(names(reply.applied))")
    }

    private func words(for report: Report) -> String {
        switch report {
        case .delivered(let id): "\(name(id)) is delivered"
        case .deferred(let id, let counted): "\(name(id)) is deferred\(counted ? "" : ", not counted")"
        case .putBack(let id): "\(name(id)) is put back"
        case .failed(let id, let isExpired): "\(name(id)) \(isExpired ? "has expired" : "has failed")"
        case .ambiguous(let id): "\(name(id)) is held, it may have arrived"
        case .superseded(let id, let newer): "\(name(id)) is superseded\(newer.map { " by \(name($0))" } ?? "")"
        case .parked(let id): "\(name(id)) is parked"
        case .withheld(let id): "\(name(id)) is not sent"
        case .quarantined(let id, let path): "\(name(id)) is in quarantine: \(path)"
        case .evicted(let id): "\(name(id)) made room"
        case .recovered(let ids): "recovered \(ids.map(name).joined(separator: ", "))"
        case .destinationHeld(let destination): "\(destination) is held"
        case .holdEnded(let destination): "the hold of \(destination) has ended"
        case .tells(let told): "\(told.host) is \(told.kind.rawValue)"
        case .error(let words): "error, \(words)"
        }
    }

    private func words(for look: Look) -> String {
        var words = look.findings.map(\.rawValue).joined(separator: ", ")
        words += ", \(look.figures.waiting) wait, \(look.due) due"
        if let last = look.lastRun { words += ", last run \(last.rfc3339)" }
        for (host, destination) in look.destinations.sorted(by: { $0.key < $1.key }) {
            words += "; \(host) \(destination.state.rawValue)"
            if let since = destination.since { words += " since \(since.rfc3339)" }
        }
        return words
    }

    private func words(for command: Command) -> String {
        var words = command.verb.rawValue
        if let ids = command.ids { words += " " + ids.map(name).joined(separator: " ") }
        if command.insists { words += ", insisting" }
        if command.takesFollowers { words += " --followers" }
        if let type = command.type { words += " --type \(type)" }
        if let host = command.host { words += " \(host)" }
        return words
    }
}

extension Report {
    /// The operations of the report.
    var ids: [OperationID] {
        switch self {
        case .delivered(let id), .deferred(let id, _), .putBack(let id), .failed(let id, _), .ambiguous(let id),
            .parked(let id), .withheld(let id), .evicted(let id):
            [id]
        case .superseded(let id, let newer): [id] + [newer].compactMap(\.self)
        case .quarantined(let id, _): [id].compactMap(\.self)
        case .recovered(let ids): ids
        case .destinationHeld, .holdEnded, .tells, .error: []
        }
    }
}
