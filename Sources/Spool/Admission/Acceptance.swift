package import Policy

/// The result of `accept` for one operation.
package enum Acceptance: Hashable, Sendable {
    /// The operation will be delivered. Its file is durable if the caller asked for that.
    case accepted(EntryName)
    /// An operation of that id is in the queue already; nothing was done.
    case duplicate(of: QueueState)
    /// An operation of that id is in flight, or moved meanwhile, and was not replaced.
    case inFlight
    /// A process has an operation of that id that may keep nothing of it (`SpoolDirectory.mayEnd`). Nothing was done.
    case isBeingSent
    /// No operation of that id is in the queue any more, and none was replaced.
    case isGone
    /// The queue is full, or the operation is larger than any queue takes.
    case rejected(FullLimit)
    /// The operation could never be sent. Nothing of it is kept.
    case refused(String)
    /// The caller asked for all or none, and another operation of the batch was rejected or refused.
    case notAttempted
}

/// The limit that an operation would exceed.
package enum FullLimit: Hashable, Sendable, CustomStringConvertible {
    case operations(Int)
    case bytes(Int)
    case operationBytes(Int)
    /// The bound of the header line, which has key, URL and headers.
    case headerBytes(Int)
    case minimumFree(Int)

    /// Whether there may be room later. If false, no queue takes the operation.
    package var isOfQueue: Bool {
        switch self {
        case .operations, .bytes, .minimumFree: true
        case .operationBytes, .headerBytes: false
        }
    }

    package var description: String {
        switch self {
        case .operations(let limit): "the queue holds \(limit) operations, its limit"
        case .bytes(let limit): "the queue would pass its limit of \(ByteCount(limit))"
        case .operationBytes(let limit): "the operation is larger than the limit of \(ByteCount(limit))"
        case .headerBytes(let limit): "key, URL and headers are longer than \(ByteCount(limit))"
        case .minimumFree(let limit): "less than \(ByteCount(limit)) would stay free"
        }
    }
}

/// The results of a batch.
package struct Accepted: Hashable, Sendable {
    /// One result for each operation, in the order of the batch.
    package var results: [Acceptance]
    /// The operations that `dropOldest` evicted: from the queue, and older operations of the batch, which count as
    /// accepted.
    package var evicted: [Entry] = []
    /// The operations replaced by others of the batch.
    package var replaced: [Entry] = []
    /// The operations that made room because a newer operation of their key supersedes them.
    package var superseded: [SupersededEntry] = []
    /// Why an operation that had to go could not. The queue exceeds its limits then; the batch is accepted.
    package var errors: [SpoolError] = []
}

/// An operation removed for a newer operation of its key.
package struct SupersededEntry: Hashable, Sendable {
    package var entry: Entry
    package var newer: OperationID
}
