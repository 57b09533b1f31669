import Drain
import Policy
import Spool

/// What keeps an operation that waits from being sent.
enum WaitReason: Hashable {
    /// Nothing: the next run may send it.
    case nothing
    /// Its own time: the schedule's, or what it asked for itself.
    case time(Timestamp)
    /// It is held by itself.
    case person
    /// An older one of its sequence goes first.
    case older(OperationID)
    /// A newer one stands for it: the next run takes it away.
    case newer(OperationID)
    /// A newer one goes with what it changes, in one request.
    case merged(OperationID)
    /// An older one of its sequence failed for good, and holds it.
    case failed(OperationID)
    case destination(Availability.Block)
    /// It was refused; another operation shows whether it or the credentials are to blame. It is asked again by itself then.
    case witness(until: Timestamp)
    /// The whole queue is paused.
    case resume
}

/// Says of every operation of a queue what it waits for, as a run that began now would see it: from names alone.
struct WaitReasons {
    private let known: KnownDestinations
    private let configuration: Configuration
    private let now: Timestamp
    private let isPaused: Bool
    /// `nil` where no route has an order.
    private var census: Census?
    private var availabilities: [Digest: Availability] = [:]
    private let parked: [Digest: [OperationID: Timestamp]]

    /// Lists the queue once where a route orders or coalesces, as a run does, but takes no lock. Never opens a file.
    /// `named`: the run sends these operations and no others.
    init(
        _ queue: OpenQueue, _ known: KnownDestinations, at now: Timestamp, named: [OperationID]? = nil
    ) throws(SpoolError) {
        self.known = known
        self.configuration = queue.configuration
        self.now = now
        isPaused = try queue.spool.isPaused
        parked = known.parked(at: now)
        var chooser = Chooser(
            spool: queue.spool, configuration: configuration, destinations: known.table,
            options: RunOptions(ids: named.map { Set($0) }), now: now, order: .shown, parked: parked)
        census = try chooser.census()
    }

    /// `nil` where it does not wait: it is being attempted, or it is over.
    mutating func waiting(of entry: Entry) -> WaitReason? {
        guard entry.state == .new || entry.state == .deferred else { return nil }
        let name = entry.name
        let route = configuration.route(of: name.type)
        let destination = known.table.destination(of: name)
        let turn = census?.turn(of: name, of: route, to: destination) ?? .free
        let isParked = parked[destination.digest]?[name.id] != nil
        let eligibility = eligibility(of: name, route)
        if case .superseded(let newer) = turn {
            if !route.mergesPayloads { return .newer(newer) }
            if eligibility.mayBeMerged(gate: name.gate), eligibility != .due || !isParked { return .merged(newer) }
        }
        var own: Timestamp?
        switch eligibility {
        case .held: return .person
        case .deferred(let until): own = until
        case .due: break
        }
        if let failed = known.failedHolder(of: name) { return .failed(failed) }
        if case .blocked(let older) = turn { return .older(older) }
        if case .closed(let block) = availability(of: destination) {
            guard let own, let until = block.until, until < own else { return .destination(block) }
        }
        if own == nil, let until = parked[destination.digest]?[name.id] { return .witness(until: until) }
        return own.map { .time($0) } ?? (isPaused ? .resume : .nothing)
    }

    private func eligibility(of name: EntryName, _ route: Route) -> Eligibility {
        Policy.eligibility(of: name, at: now, longestDelay: route.longestDelay, ignoringBackoff: false)
    }

    private mutating func availability(of destination: Destination) -> Availability {
        if let availability = availabilities[destination.digest] { return availability }
        let availability = known.availability(of: destination, at: now)
        availabilities[destination.digest] = availability
        return availability
    }
}

extension WaitReason {
    /// From when on a run may send it; `nil` where no time says so.
    func until(_ now: Timestamp) -> Timestamp? {
        switch self {
        // A pause of the queue changes nothing of what is due.
        case .nothing, .resume: now
        case .time(let moment): moment
        case .destination(let block): block.until
        case .witness(let until): until
        case .person, .older, .newer, .merged, .failed: nil
        }
    }

    /// A word or two, for a table. `named` makes the text that stands for another operation.
    func words(_ now: Timestamp, named: (OperationID) -> String) -> String {
        switch self {
        case .nothing: return "now"
        case .time(let moment): return InWords.moment(moment, from: now)
        case .person: return "held"
        case .older(let id): return "behind \(named(id))"
        case .newer(let id): return "replaced by \(named(id))"
        case .merged(let id): return "with \(named(id))"
        case .failed(let id): return "held behind \(named(id))"
        case .resume: return "paused"
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

    /// The whole of it, with what ends it.
    func sentence(_ now: Timestamp, id: OperationID, destination: String) -> String {
        func moment(_ moment: Timestamp) -> String { InWords.both(moment, from: now) }
        switch self {
        case .nothing: return "the next run may send it"
        case .time(let time): return "the next attempt is at \(moment(time))"
        case .person: return "held by itself, until '\(pasted("release", id.description))'"
        case .older(let older): return "behind '\(older)', which goes first"
        case .newer(let newer): return "replaced by '\(newer)', which is newer: the next run removes it unsent"
        case .merged(let newer): return "merged into '\(newer)', which is newer: one request carries both"
        case .failed(let failed):
            return
                "held behind '\(failed)', which failed: '\(pasted("retry", failed.description))' sends that one first, "
                + "'\(pasted("drop", failed.description))' releases those behind it"
        case .resume: return "the queue is paused, until '\(pasted("resume"))'"
        case .witness(let until):
            return "parked: it was refused, and another operation to '\(destination)' will show whether it or the "
                + "credentials are to blame; it is asked again at \(moment(until))"
        case .destination(let block):
            let until = block.until.map { ", until \(moment($0))" } ?? ""
            switch block.reason {
            case .paused:
                return "its destination is paused, until '\(pasted("resume", "--destination", destination))'"
            case .held:
                let probe = block.until.map { "; it is probed at \(moment($0))" } ?? ""
                return "its destination is held, until '\(pasted("release", "--destination", destination))'\(probe)"
            case .retryAfter: return "the server of its destination asked for time\(until)"
            case .circuitBreaker: return "the circuit breaker of its destination is open\(until)"
            }
        }
    }
}

/// What an operation waits for, in `list --json` and `show --json`; none where it waits for nothing but a run.
struct WaitView: Encodable {
    static let words = [
        "time", "release", "older", "newer", "merged", "failed", "resume", "destinationPaused", "destinationHeld",
        "retryAfter", "circuitBreaker", "witness",
    ]

    var what: String
    var id: String?
    var until: String?

    init?(_ waiting: WaitReason) {
        switch waiting {
        case .nothing: return nil
        case .time(let moment):
            what = "time"
            until = moment.rfc3339
        case .person: what = "release"
        case .older(let other):
            what = "older"
            id = other.description
        case .newer(let other):
            what = "newer"
            id = other.description
        case .merged(let other):
            what = "merged"
            id = other.description
        case .failed(let other):
            what = "failed"
            id = other.description
        case .resume: what = "resume"
        case .witness(let moment):
            what = "witness"
            until = moment.rfc3339
        case .destination(let block):
            switch block.reason {
            case .paused: what = "destinationPaused"
            case .held: what = "destinationHeld"
            case .retryAfter: what = "retryAfter"
            case .circuitBreaker: what = "circuitBreaker"
            }
            until = block.until?.rfc3339
        }
    }
}
