package import Policy

/// An operation that asks to be taken in, whichever way it came.
package struct Submission: Sendable {
    /// An operation of a queue's own making, or what an export says of one.
    private enum Content: Sendable {
        case operation(Operation, EntryName)
        case portable(PortableOperation)
    }

    private var content: Content
    /// Whether the submitter chose the id. Such an id is in the queue once.
    package let hasOwnID: Bool
    /// When it was submitted, by this machine's clock: the last time of creation that it may claim, but for a small skew.
    package let at: Timestamp
    /// Whether the submitter chose the time of creation. Else it comes after all that stands in its sequence.
    private(set) var isDated: Bool

    package init(_ operation: Operation, hasOwnID: Bool, at: Timestamp, isDated: Bool) {
        content = .operation(operation, EntryName(naming: operation.header))
        self.hasOwnID = hasOwnID
        self.at = at
        self.isDated = isDated
    }

    /// One that was attempted before. Its name has the attempts and the time of the next one.
    package init(_ operation: Operation, as name: EntryName, hasOwnID: Bool, at: Timestamp, isDated: Bool) {
        content = .operation(operation, name.asWritten)
        self.hasOwnID = hasOwnID
        self.at = at
        self.isDated = isDated
    }

    /// One that was in a queue before. It keeps its time of creation, and its id is in the queue once.
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

    /// Where it is to stand.
    package var entry: Entry {
        switch content {
        case .operation(_, let name): Entry(state: .home(of: name), name: name)
        case .portable(let operation): operation.entry
        }
    }

    /// With the records of its attempts, where those count.
    package var operation: Operation {
        switch content {
        case .operation(let operation, _): operation
        case .portable(let operation): Operation(header: operation.header, body: operation.body)
        }
    }

    /// Gives it another time of creation.
    mutating func date(_ time: Timestamp) {
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

    /// The submitter's time of creation does not hold.
    mutating func undate() {
        isDated = false
        date(at)
    }

    var file: IncomingFile {
        switch content {
        case .operation(let operation, _):
            let bytes = OperationFile.encode(operation)
            // With the newline that ends the body.
            let history = operation.attempts.reduce(1) { $0 + OperationFile.encode($1).count }
            return IncomingFile(entry: entry, bytes: bytes, body: operation.body.count, history: history)
        case .portable(let operation):
            return IncomingFile(
                entry: entry, bytes: operation.file, body: operation.body.count, history: operation.historyLength)
        }
    }
}

/// A file that is to be taken in, and where.
struct IncomingFile {
    var entry: Entry
    var bytes: [UInt8]
    /// The operation that it takes the place of.
    var replaced: Entry?
    /// How many of the bytes are the operation's body.
    var body: Int
    /// How many are the newline after the body, and records of attempts.
    var history = 1

    /// How many are the header line.
    var header: Int { bytes.count - body - history }
}
