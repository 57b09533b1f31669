import Policy

/// What the outside world knows of one operation. All places are indices of events.
struct Life {
    /// A sign that the operation is in the queue no more.
    enum Leave: Equatable {
        /// The process that sent it learned a 2xx.
        case delivered
        case failed(isExpired: Bool)
        case superseded
        case evicted
        case dropped
        case quarantined
        /// Another content has taken its place.
        case replaced
        /// `send` was told that the server refused it for good.
        case refused
    }

    /// An operator's command that has changed the operation, or that may have: its process died first.
    struct Touch {
        var verb: Command.Verb
        /// The event at which the command began.
        var began: Int
        /// The event that told the operator; `nil` if the process died before.
        var told: Int?
        var insists: Bool
    }

    let label: Label
    let offer: Offer
    let kind: Setup.Kind
    let submitter: ProcessID
    /// When its submitter began to hand it in.
    let offered: Int
    let patch: Document?
    var answers: [(at: Int, answer: Answer)] = []
    var id: OperationID?
    /// The time of creation that its name has, or the bounds between which it must be; `nil` if nothing is known.
    var created: ClosedRange<Timestamp>?
    /// When its file had a canonical name for the first time, and that name; `nil` if nobody saw it.
    var named: Int?
    var firstName: EntryName?
    /// From when on it certainly was in the queue.
    var entered: Int?
    /// The requests that have carried it visibly, by their place in the record, in their order.
    var exchanges: [Int] = []
    /// When it was told, what it was, and since when it may have been so.
    var leaves: [(at: Int, leave: Leave, since: Int)] = []
    var touches: [Touch] = []
    /// When its file lost a part on the disk.
    var damaged: Int?
    /// When an operator was told that a command did not change it.
    var leftAlone: [Int] = []
    /// The reports that name its id.
    var reports: [(at: Int, report: Report)] = []
    /// The files at the end that have its payload or its id.
    var left: [Place] = []

    var isReplacing: Bool { offer.isReplacing || offer.way == .replacing }

    var answer: Answer? { answers.last?.answer }

    /// Whether its submitter has a promise that it stays.
    var isPromised: Bool {
        answers.contains { answer in
            switch answer.answer {
            case .accepted, .queued, .placed: true
            default: false
            }
        }
    }

    /// Whether its submitter was told that it is not in the queue and never was.
    var isRejected: Bool {
        !isPromised
            && answers.contains { answer in
                switch answer.answer {
                case .duplicate, .full, .refused, .notAttempted, .inFlight: true
                default: false
                }
            }
    }

    /// Whether something that happened from `since` on was about this content, and not about an older one of its id.
    func isMeant(since: Int) -> Bool { !isReplacing || since > named ?? .max }

    /// Returns whether this operation stands before the other one, where that is certain: by the time of creation, and by
    /// the id if the times are equal.
    func precedes(_ other: Life) -> Bool {
        guard let mine = created, let others = other.created else { return false }
        if mine.upperBound < others.lowerBound { return true }
        guard mine.lowerBound == mine.upperBound, mine == others, let id,
            let otherID = other.id
        else { return false }
        return id < otherID
    }

    /// The sequence of the values of its key; `nil` if its kind does not coalesce, or it has no key.
    var values: Sequence? { sequences.first(where: \.isValue) }

    /// The sequences that the operation belongs to.
    var sequences: [Sequence] {
        var sequences: [Sequence] = []
        guard offer.way != .sendUnqueued else { return sequences }
        if kind.order == .strict { sequences.append(.strict(host: kind.host)) }
        guard let key = offer.key else { return sequences }
        if kind.order == .key { sequences.append(.key(host: kind.host, key)) }
        if kind.coalescing != .none { sequences.append(.value(host: kind.host, kind.type, key)) }
        return sequences
    }
}

/// Operations whose order matters between them.
enum Sequence: Hashable {
    /// `ordering: "key"`: one key and one destination, whatever the types.
    case key(host: String, String)
    /// `ordering: "strict"`: one destination.
    case strict(host: String)
    /// `coalesce`: one type, key and destination.
    case value(host: String, TypeName, String)

    var isValue: Bool { if case .value = self { true } else { false } }
}

/// A file of the queue at the end.
struct Place {
    enum Directory: String {
        case new
        case deferred
        case claimed
        case failed
        case quarantine
        case delivered
        case tmp
        case other
    }

    var path: String
    var directory: Directory
    /// `nil` if the name is not canonical.
    var name: EntryName?
    /// The payload in the file; `nil` if the file is not an operation.
    var payload: [UInt8]?

    init(_ file: LeftFile) {
        path = file.path
        let parts = file.path.split(separator: "/")
        directory = parts.count > 1 ? Directory(rawValue: String(parts[0])) ?? .other : .other
        name = parts.last.flatMap { EntryName(String($0)) }
        payload = Self.payload(of: file.bytes)
    }

    /// Whether the operation is in the queue there: it waits, is in flight, or is a dead letter or in quarantine.
    var isInQueue: Bool {
        switch directory {
        case .new, .deferred, .claimed, .failed, .quarantine: true
        case .delivered, .tmp, .other: false
        }
    }

    /// Whether the file is an operation by its place: not a lock, and not the reason of a file in quarantine.
    var isOperation: Bool {
        guard isInQueue || directory == .delivered else { return false }
        if directory == .claimed, path.hasSuffix("/lock") { return false }
        return !(directory == .quarantine && path.hasSuffix(".reason"))
    }

    /// Returns the body of a canonical file, the payload of an envelope, or the JSON value that the file is.
    private static func payload(of bytes: [UInt8]) -> [UInt8]? {
        var reader = DocumentReader(bytes)
        guard let header = reader.object() else { return nil }
        guard header["drainq"] != nil else { return trimmed(bytes) }
        if let payload = header["payload"] { return payload.bytes }
        guard case .other(let length)? = header["length"]?.document, let count = Int(length),
            let line = bytes.firstIndex(of: UInt8(ascii: "\n")), bytes.count - line - 1 >= count
        else { return nil }
        return Array(bytes[(line + 1)..<(line + 1 + count)])
    }

    private static func trimmed(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        while let last = bytes.last, " \n\r\t".utf8.contains(last) { bytes.removeLast() }
        return bytes
    }
}
