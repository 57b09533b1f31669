package import Policy

/// An operation from any source, to enter a queue.
package struct Submission: Sendable {
    /// A new operation with its name, or an operation from an export.
    private enum Content: Sendable {
        case operation(Operation, EntryName)
        case portable(PortableOperation)
    }

    private var content: Content
    /// Whether the submitter chose the id. Such an id is in the queue only once.
    package let hasOwnID: Bool
    /// The time of submission, by this machine's clock. The latest creation time accepted is this, plus
    /// `AdmissionRule.skew`.
    package internal(set) var at: Timestamp
    /// Whether the submitter chose the time of creation. If not, the operation comes after everything in its sequence
    /// that is not from the past (`AdmissionRule.complete`).
    private(set) var isDated: Bool

    package init(_ operation: Operation, hasOwnID: Bool, at: Timestamp, isDated: Bool) {
        content = .operation(operation, EntryName(naming: operation.header))
        self.hasOwnID = hasOwnID
        self.at = at
        self.isDated = isDated
    }

    /// Creates a submission of an operation attempted before. Its name has the attempts and the time of the next
    /// attempt.
    package init(_ operation: Operation, as name: EntryName, hasOwnID: Bool, at: Timestamp, isDated: Bool) {
        content = .operation(operation, name.asWritten)
        self.hasOwnID = hasOwnID
        self.at = at
        self.isDated = isDated
    }

    /// Creates a submission of an operation from a queue. The operation keeps its time of creation, and its id is in
    /// the queue once.
    package init(_ operation: PortableOperation, at: Timestamp) {
        content = .portable(operation)
        hasOwnID = true
        self.at = at
        isDated = true
    }

    package var header: OperationHeader {
        switch content {
        case .operation(let operation, _): operation.header
        case .portable(let operation): operation.header
        }
    }

    /// The state and name under which the operation enters.
    package var entry: Entry {
        switch content {
        case .operation(_, let name): Entry(state: .home(of: name), name: name)
        case .portable(let operation): operation.entry
        }
    }

    /// The name in quarantine of the bytes that ask for the operation.
    var inputName: EntryName {
        var name = EntryName(naming: header)
        name.isInput = true
        return name
    }

    /// The operation; a portable operation without the records of its attempts.
    package var operation: Operation {
        switch content {
        case .operation(let operation, _): operation
        case .portable(let operation): Operation(header: operation.header, body: operation.body)
        }
    }

    /// Whether the operation was in a queue before, and keeps its fields.
    var isPortable: Bool {
        if case .portable = content { true } else { false }
    }

    /// Returns why this operation cannot take the place of an operation in the queue; `nil` if it can. The replacement
    /// takes the state and the name of the queued operation: its attempts, its hold and its due time. So changes to the
    /// queued operation since the export do not matter.
    func objection(toReplacing old: Entry) -> String? {
        let name = EntryName(naming: header)
        var difference = old.name.contradiction(to: header)
        if difference == nil, old.name.keyDigest != name.keyDigest || old.name.originDigest != name.originDigest {
            difference = "the name in the queue has no digest of the key or url"
        }
        if difference == nil, old.state == .quarantine { difference = "the operation in the queue is in quarantine" }
        return difference.map {
            "\($0); drop the operation in the queue, then import this one with another id: its server may know this one"
        }
    }

    /// Sets the key in its header and its name. Leaves a portable operation as it is.
    mutating func setKey(_ key: String) {
        guard case .operation(var operation, var name) = content else { return }
        operation.header.key = key
        name.keyDigest = EntryName(naming: operation.header).keyDigest
        content = .operation(operation, name)
    }

    /// Returns the same operation with another idempotency key, after an edit. It has the history of a queued operation
    /// if there is one.
    func keyed(
        _ key: String?, _ edit: OperationHeader.Edit?, historyOf queued: PortableOperation? = nil
    ) -> Submission {
        var keyed = self
        switch content {
        case .operation(var operation, let name):
            (operation.header.idempotencyKey, operation.header.edited) = (key, edit)
            if let queued { operation.attempts = queued.attempts }
            keyed.content = .operation(operation, name)
        case .portable(let operation):
            keyed.content = .portable(operation.keyed(key, edit, historyOf: queued ?? operation))
        }
        return keyed
    }

    /// The number of records of attempts that come with the operation.
    var recordCount: Int {
        switch content {
        case .operation(let operation, _): operation.attempts.count
        case .portable(let operation): operation.recordCount
        }
    }

    /// Sets its time of creation.
    mutating func setCreation(_ time: Timestamp) {
        if time == header.createdAt { return }
        switch content {
        case .operation(var operation, var name):
            operation.header.createdAt = time
            name.createdAt = time
            content = .operation(operation, name)
        case .portable(let operation):
            content = .portable(operation.created(at: time))
        }
    }

    /// Makes an operation that was in no queue wait until this time.
    mutating func wait(until due: Timestamp) {
        guard due > at, case .operation(let operation, var name) = content else { return }
        name.gate = .notBefore(due)
        content = .operation(operation, name.asWritten)
    }

    /// Gives an operation that the submitter did not date a later time than `last`, and stores the time in `last`.
    mutating func follow(_ last: inout Timestamp) {
        if isDated { return }
        setCreation(max(header.createdAt, last + .microseconds(1)))
        last = header.createdAt
    }

    /// Replaces the submitter's time of creation by the time of submission.
    mutating func useSubmissionTime() {
        isDated = false
        setCreation(at)
    }

    var file: IncomingFile {
        switch content {
        case .operation(let operation, _):
            let bytes = OperationFile.encode(operation)
            // 1 is the newline at the end of the body.
            let historyLength = operation.attempts.reduce(1) { $0 + OperationFile.encode($1).count }
            return IncomingFile(
                entry: entry, bytes: bytes, bodyLength: operation.body.count, historyLength: historyLength)
        case .portable(let operation):
            return IncomingFile(
                entry: entry, bytes: operation.file, bodyLength: operation.body.count,
                historyLength: operation.historyLength)
        }
    }
}

/// A file to enter the queue, with its state and name there.
struct IncomingFile {
    var entry: Entry
    var bytes: [UInt8]
    /// The bytes of the entry's file that the file replaces, as it was read; `nil` if the file replaces none.
    var replaces: Int?
    /// The length of the operation's body in bytes.
    var bodyLength: Int
    /// The length in bytes of the part after the body: its newline, and records of attempts.
    var historyLength = 1

    /// Whether the operation counts against the limits.
    var waits: Bool { QueueState.waiting.contains(entry.state) }

    /// The length of the header line in bytes.
    var headerLength: Int { bytes.count - bodyLength - historyLength }
}
