import Drain
import Policy
import Spool

extension WaitReason {
    /// Returns a word or two, for a table. `named` makes the text that stands for another operation.
    func words(_ now: Timestamp, named: (OperationID) -> String) -> String {
        switch self {
        case .nothing: return "now"
        case .time(let moment): return InWords.moment(moment, from: now)
        case .newest(let moment): return "\(InWords.moment(moment, from: now)) (debounce)"
        case .person: return "held"
        case .older(let id): return "behind \(named(id))"
        case .newer(let id): return "replaced by \(named(id))"
        case .merged(let id): return "with \(named(id))"
        case .failed(let id): return "held behind \(named(id))"
        case .kept(let name): return "for kept \(name)"
        case .unserved(let unserved): return "for kept \(unserved.name)"
        case .secret: return "now (secret)"
        case .resume: return "paused"
        case .conditions: return "conditions"
        case .witness(let until): return "\(InWords.moment(until, from: now)) (parked)"
        case .destination(let block):
            let moment = block.until.map { InWords.moment($0, from: now) } ?? ""
            switch block.reason {
            case .paused: return "paused"
            case .held: return moment.isEmpty ? "held" : "\(moment) (held)"
            case .retryAfter: return "\(moment) (retry-after)"
            case .circuitBreaker: return "\(moment) (circuit breaker)"
            }
        }
    }

    /// Returns the reason in a sentence, with what ends it. `isAtWork`: a run is at work.
    func sentence(_ now: Timestamp, id: OperationID, destination: String, isAtWork: Bool = false) -> String {
        func moment(_ moment: Timestamp) -> String { InWords.both(moment, from: now) }
        switch self {
        case .nothing: return isAtWork ? "a run is at work: it or the next one sends it" : "the next run may send it"
        case .time(let time): return "the next attempt is at \(moment(time))"
        case .newest(let end):
            return "waiting for a newer value of its key ('debounce'); the next attempt is at \(moment(end))"
        case .person: return "held individually, until '\(pasted("release", id.description))'"
        case .older(let older): return "waiting behind '\(older)', which goes first"
        case .newer(let newer): return "replaced by '\(newer)', which is newer: the next run removes it unsent"
        case .merged(let newer): return "merged into '\(newer)', which is newer: one request carries both"
        case .failed(let failed):
            return
                "held behind '\(failed)', which failed: '\(pasted("retry", failed.description))' sends that one first, "
                + "'\(pasted("drop", failed.description))' releases those behind it"
        case .kept(let name):
            return "waiting for '{kept.\(name)}': no answer has provided this value for its key yet"
        case .unserved(let unserved):
            let wait = "waiting for '{kept.\(unserved.name)}', which"
            let drop = "'\(pasted("drop", id.description))' removes this one"
            if let failed = unserved.failed {
                let retry = pasted("retry", failed.description)
                return
                    "\(wait) nothing in the queue leaves any more: '\(failed)' failed; '\(retry)' sends that one again"
            }
            if let behind = unserved.behind {
                return "\(wait) only '\(behind)' leaves, and that one stands behind it: \(drop); then add it again"
            }
            return
                "\(wait) nothing in the queue leaves any more: an operation of its key that leaves it must be added; \(drop)"
        case .conditions(let reason): return "not sent now: \(reason)"
        case .secret(let reason): return "not sent: \(reason)"
        case .resume: return "the queue is paused, until '\(pasted("resume"))'"
        case .witness(let until):
            return
                "parked: the server refused it, and another operation to '\(destination)' will show whether this operation "
                + "or the credentials are to blame; the next attempt is at \(moment(until)), or after "
                + "'\(pasted("retry", id.description))'"
        case .destination(let block):
            let until = block.until.map { ", until \(moment($0))" } ?? ""
            switch block.reason {
            case .paused:
                return "its destination is paused, until '\(pasted("resume", "--destination", destination))'"
            case .held:
                let probe = block.until.map { "; the next probe is at \(moment($0))" } ?? ""
                return "its destination is held, until '\(pasted("release", "--destination", destination))'\(probe)"
            case .retryAfter: return "the server of its destination asked for time\(until)"
            case .circuitBreaker: return "the circuit breaker of its destination is open\(until)"
            }
        }
    }
}

extension Entry {
    /// Returns which run has claimed the operation: `by the run 'X'`.
    func claimInWords(dead: Set<String>) -> String {
        guard let run = claimedBy else { return "by a run" }
        return "by the run '\(run)'" + (dead.contains(run) ? ", which died: the next run takes it back" : "")
    }
}

/// The reason why an operation waits, in `list --json` and `show --json`; `nil` if it waits only for a run.
struct WaitView: JSONObject {
    static let words = [
        "time", "debounce", "release", "older", "newer", "merged", "failed", "kept", "unserved", "resume",
        "destinationPaused",
        "destinationHeld", "retryAfter", "circuitBreaker", "conditions", "witness", "secret",
    ]

    var what: String
    var id: String?
    /// The name of the missing kept value.
    var name: String?
    var until: String?
    var reason: String?

    static let fields: [JSONField<WaitView>] = [
        .field(
            "what", .word(words),
            "its time, a newer value of its key, its own release, an older operation that goes first, a newer one that "
                + "replaces it or that it is merged into, an older one that failed and holds it, a value that no answer "
                + "has provided for its key yet, by drainq show a value that no operation of the queue can provide, the end of a pause of the queue, the pause, hold, retry-after or open "
                + "circuit breaker of its destination, the network or power of this machine, or, by drainq show, the "
                + "secret of its user",
            \.what),
        .maybe("id", .text, "the other operation", \.id),
        .maybe("name", .text, "the name of that value", \.name),
        .maybe("until", .time, "the end of that, or the next probe of a hold", \.until),
        .maybe("reason", .text, "the reason of `conditions` and `secret`", \.reason),
    ]

    init?(_ waiting: WaitReason) {
        switch waiting {
        case .nothing: return nil
        case .time(let moment): self.init("time", until: moment)
        case .newest(let moment): self.init("debounce", until: moment)
        case .person: self.init("release")
        case .older(let other): self.init("older", other)
        case .newer(let other): self.init("newer", other)
        case .merged(let other): self.init("merged", other)
        case .failed(let other): self.init("failed", other)
        case .kept(let name): self.init("kept", name: name)
        case .unserved(let unserved):
            self.init("unserved", unserved.failed ?? unserved.behind, name: unserved.name)
        case .resume: self.init("resume")
        case .secret(let reason): self.init("secret", reason: reason)
        case .conditions(let reason): self.init("conditions", reason: reason)
        case .witness(let moment): self.init("witness", until: moment)
        case .destination(let block):
            let what =
                switch block.reason {
                case .paused: "destinationPaused"
                case .held: "destinationHeld"
                case .retryAfter: "retryAfter"
                case .circuitBreaker: "circuitBreaker"
                }
            self.init(what, until: block.until)
        }
    }

    private init(
        _ what: String, _ id: OperationID? = nil, name: String? = nil, until: Timestamp? = nil, reason: String? = nil
    ) {
        (self.what, self.id, self.name, self.until, self.reason) =
            (what, id?.description, name, until?.rfc3339, reason)
    }
}
