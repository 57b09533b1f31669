package import Policy

/// What became of one operation that was given to `accept`.
package enum Acceptance: Hashable, Sendable {
    /// It will be delivered: its file is durable, if that was asked for.
    case accepted(EntryName)
    /// An operation of that id is in the queue already; nothing was done.
    case duplicate(of: QueueState)
    /// An operation of that id is in flight, and was not replaced.
    case inFlight
    /// The queue is full, or the operation is larger than any may be.
    case rejected(FullLimit)
    /// It could never be sent. Nothing of it is kept.
    case refused(String)
    /// All or none was asked for, and another one of the batch was rejected or refused.
    case notAttempted
}

/// Which limit an operation would pass.
package enum FullLimit: Hashable, Sendable, CustomStringConvertible {
    case operations(Int)
    case bytes(Int)
    case operationBytes(Int)
    /// The header line, with key, URL and headers, has a bound of its own.
    case headerBytes(Int)
    case minimumFree(Int)

    /// Whether there may be room later. Else no queue takes it.
    var isOfQueue: Bool {
        switch self {
        case .operations, .bytes, .minimumFree: true
        case .operationBytes, .headerBytes: false
        }
    }

    package var description: String {
        switch self {
        case .operations(let limit): "the queue holds \(limit) operations, its limit"
        case .bytes(let limit): "the queue would pass its limit of \(limit) bytes"
        case .operationBytes(let limit): "the operation is larger than the limit of \(limit) bytes"
        case .headerBytes(let limit): "key, URL and headers are longer than \(limit) bytes"
        case .minimumFree(let limit): "less than \(limit) bytes would stay free"
        }
    }
}

/// The results of a batch.
package struct Accepted: Hashable, Sendable {
    /// One for each operation, in their order.
    package var results: [Acceptance]
    /// What had to go under `dropOldest`: operations of the queue, and older ones of the batch, which count as accepted.
    package var dropped: [Entry] = []
    /// What others have taken the place of.
    package var replaced: [Entry] = []
    /// What made room because a newer operation of its key stands for it.
    package var superseded: [Entry] = []
    /// Why what had to go could not: the queue is over its limits, and what was accepted is accepted all the same.
    package var errors: [SpoolError] = []
}
