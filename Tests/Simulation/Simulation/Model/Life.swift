import Policy

/// The outside world's knowledge of an operation. All places are indices of events.
struct Life {
    /// A sign that the operation has left the queue.
    enum Leave: Equatable {
        /// The sender learned a 2xx.
        case delivered
        case failed(isExpired: Bool)
        case superseded
        case evicted
        case dropped
        case quarantined
        /// Another content has replaced this content.
        case replaced
        /// `send` was told that the server refused the operation for good.
        case refused
    }

    /// An operator's command that has changed the operation, or may have changed it before the command's process died.
    struct Touch {
        var verb: Command.Verb
        /// The event at which the command began.
        var began: Int
        /// The event that told the operator; `nil` if the process died before.
        var told: Int?
        /// The event that told the operator, or the end of the process.
        var until: Int
        var insists: Bool
    }

    let label: Label
    let offer: Offer
    let kind: Setup.Kind
    let submitter: ProcessID
    /// When the submitter began to hand the operation in.
    let offered: Int
    let patch: Document?
    var answers: [(at: Int, answer: Answer)] = []
    var id: OperationID?
    /// The time of creation in the operation's name, or the bounds of the time; `nil` if the time is unknown.
    var created: ClosedRange<Timestamp>?
    /// When the operation's file had a canonical name for the first time, and the name; `nil` if nobody saw the name.
    var named: Int?
    var firstName: EntryName?
    /// From when on the operation certainly was in the queue.
    var entered: Int?
    /// The requests that have carried the operation visibly, by their place in the record, in order.
    var exchanges: [Int] = []
    /// When the outside world was told, the way in which the operation left, and the earliest moment at which it may
    /// have left.
    var leaves: [(at: Int, leave: Leave, since: Int)] = []
    var touches: [Touch] = []
    /// When the operation's file lost a part on the disk.
    var damaged: Int?
    /// When an operator was told that a command did not change the operation, with the beginning of the command.
    var leftAlone: [(at: Int, by: ProcessID, verb: Command.Verb, began: Int)] = []
    /// The reports that name the operation's id.
    var reports: [(at: Int, report: Report)] = []
    /// The files at the end with the operation's payload.
    var left: [Place] = []

    var isReplacing: Bool { offer.isReplacing || offer.way == .replacing }

    var answer: Answer? { answers.last?.answer }

    /// Whether the submitter has a promise that the operation stays.
    var isPromised: Bool {
        answers.contains { answer in
            switch answer.answer {
            case .accepted, .queued, .placed: true
            default: false
            }
        }
    }

    /// Whether the submitter was told that the operation is not in the queue and never was.
    var isRejected: Bool {
        !isPromised
            && answers.contains { answer in
                switch answer.answer {
                case .duplicate, .full, .refused, .notAttempted, .inFlight: true
                default: false
                }
            }
    }

    /// Whether an event from `since` on was about this content, and not about an older content of the id.
    func isMeant(since: Int) -> Bool { !isReplacing || since > named ?? .max }

    /// Whether this operation certainly stands before `other` in the order: by the time of creation, and by the id if
    /// the times are equal.
    func precedes(_ other: Life) -> Bool {
        guard let mine = created, let others = other.created else { return false }
        if mine.upperBound < others.lowerBound { return true }
        guard mine.lowerBound == mine.upperBound, mine == others, let id,
            let otherID = other.id
        else { return false }
        return id < otherID
    }

    /// The sequence of the values of the operation's key; `nil` without coalescing or without a key.
    var values: Sequence? { sequences.first(where: \.isValue) }

    /// The sequences of the operation.
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

/// Operations that must keep their order.
enum Sequence: Hashable {
    /// `ordering: "key"`: a key and a destination, whatever the types.
    case key(host: String, String)
    /// `ordering: "strict"`: a destination.
    case strict(host: String)
    /// `coalesce`: a type, a key and a destination.
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
    let bytes: [UInt8]

    init(_ file: LeftFile) {
        (path, bytes) = (file.path, file.bytes)
        let parts = file.path.split(separator: "/")
        directory = parts.count > 1 ? Directory(rawValue: String(parts[0])) ?? .other : .other
        name = parts.last.flatMap { EntryName(String($0)) }
        payload = Self.payload(of: file.bytes)
    }

    /// Whether the operation is in the queue there: waiting, in flight, a dead letter or in quarantine.
    var isInQueue: Bool {
        switch directory {
        case .new, .deferred, .claimed, .failed, .quarantine: true
        case .delivered, .tmp, .other: false
        }
    }

    /// Whether the file is an operation by its place: neither a lock nor the reason of a file in quarantine.
    var isOperation: Bool {
        guard isInQueue || directory == .delivered else { return false }
        if directory == .claimed, path.hasSuffix("/lock") { return false }
        return !(directory == .quarantine && path.hasSuffix(".reason"))
    }

    /// Returns the body of a canonical file, the payload of an envelope, or the JSON value of the file.
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

extension Report {
    /// The operation of the report.
    var id: OperationID? {
        switch self {
        case .delivered(let id), .deferred(let id, counted: _), .putBack(let id), .failed(let id, isExpired: _),
            .ambiguous(let id), .superseded(let id, by: _), .parked(let id), .withheld(let id),
            .evicted(let id):
            id
        case .quarantined(let id, path: _): id
        case .recovered, .destinationHeld, .holdEnded, .tells, .error: nil
        }
    }

    var leave: Life.Leave? {
        switch self {
        case .delivered: .delivered
        case .failed(_, let isExpired): .failed(isExpired: isExpired)
        case .superseded: .superseded
        case .quarantined: .quarantined
        case .evicted: .evicted
        case .deferred, .putBack, .ambiguous, .parked, .withheld, .recovered, .destinationHeld, .holdEnded, .tells,
            .error:
            nil
        }
    }
}

extension Record {
    /// Whether the name of a file is that of another operation, whose file is damaged: a flipped bit makes one payload of
    /// another.
    func isSpoilt(_ name: EntryName?, _ index: Int) -> Bool {
        guard let id = name?.id, lives[index].id != id else { return false }
        return lives.contains { $0.damaged != nil && $0.id == id }
    }
}
