package import Spool

/// An event of an adder, for the caller to report.
package enum AdderEvent {
    /// The result for an operation that could be sent. `replaces`: it took the place of an operation with its id.
    case answered(Submission, Acceptance, GivenValue.Place, replaces: Bool)
    /// A value could never be sent. `keptAs` is its path in the queue; `nil` if the user has it in a file, if all or
    /// none enter, or if it is lost by the error.
    case refused(GivenValue.Place, reason: String, keptAs: String?, lostBy: SpoolError?)
    /// A batch is in the queue, and each of its operations is answered.
    case added(Accepted)
    /// Each value that was taken so far is answered, unless all input is gathered first. The next one may come late or
    /// not at all: what the batch removed or quarantined is to be recorded now.
    case batchEnded
}

/// An error that ended the work of an adder. The batches before it are in the queue.
package struct AdderError: Error, Hashable, Sendable {
    package var error: SpoolError
    /// The place of the first unanswered value.
    package var place: GivenValue.Place
    /// Whether a batch is in the queue.
    package var hasAdded: Bool
}
