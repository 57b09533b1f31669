import Policy
import Spool

/// An entry that is due, where it goes, and what it must not overtake.
///
/// A class, because tens of thousands are sorted and handed on.
final class Candidate {
    let entry: Entry
    let destination: Destination
    let sequence: SequenceKey?
    /// Whether no operation of its sequence precedes it.
    let isHead: Bool

    init(entry: Entry, destination: Destination, sequence: SequenceKey?, isHead: Bool) {
        self.entry = entry
        self.destination = destination
        self.sequence = sequence
        self.isHead = isHead
    }

    /// What tells which of two is older.
    var age: (Timestamp, OperationID) { (entry.name.createdAt, entry.name.id) }
}

/// An operation of an attempt.
struct Member {
    let name: EntryName
    /// `nil` for an operation that has no file: `send` tries it before it is queued.
    let claim: Claim?
    var operation: Operation
    var sequence: SequenceKey?
    /// Older operations of its key that its request carries too, oldest first. They are not claimed: what has an order is
    /// claimed by this run alone.
    var merged: [MergedOperation] = []

    init(claim: Claim, operation: Operation, sequence: SequenceKey? = nil) {
        name = claim.name
        self.claim = claim
        self.operation = operation
        self.sequence = sequence
    }

    init(operation: Operation, name: EntryName) {
        self.name = name
        claim = nil
        self.operation = operation
    }
}

/// An operation whose payload is part of the document that a newer one sends.
struct MergedOperation {
    let entry: Entry
    let operation: Operation
}

/// One request, for one operation or for several in a batch.
struct Attempt {
    var members: [Member]
    let destination: RunDestination
    let maker: RequestMaker
    var began: Timestamp
    /// What its end is measured by, where the number of attempts in flight adapts.
    var start: AdaptiveConcurrency.Start?
    /// Whether it is a sample: it tests whether others fail the same way.
    var isSample = false
    /// Whether another one was delivered with the same credentials. If refused again, it fails.
    var isWitnessed = false
    /// Whether it probes a held destination.
    var isProbe = false
    /// Whether its request also carried other operations.
    var isShared = false
    /// The secrets it was sent with.
    var secrets = SecretValues.none
    /// Redacts everything that the answer may echo.
    var redaction = Redaction.none
    /// Whether it was refused with the earlier secrets.
    var hasFreshSecrets = false
    /// The number of requests that this run has sent for its operations without counting an attempt.
    var uncharged = 0

    var route: Route { maker.route }

    /// Whether its request carries what several operations of one key change.
    var isMerged: Bool { members.contains { !$0.merged.isEmpty } }
}

/// Work that skips the dispatch order.
enum Work {
    case sample(Candidate)
    case claimed(Attempt)
}

/// The answer to an attempt, and what it means for each of its operations.
struct AttemptAnswer {
    var attempt: Attempt
    var report: SealedReport
    var verdict: Verdict
    /// Whether no request could be made, so that nothing was sent.
    var isUnsent = false
    /// Whether the operations behind it in its sequence are sent meanwhile, as if it had failed. They fail or are put
    /// back with it.
    var letsOthersGo = false
    /// Whether another one was delivered while it waited. Its failure is then no part of a storm.
    var isContradicted = false

    /// Whether the server refuses the credentials, or the operation with them.
    var isRefusal: Bool { verdict.accused() == .credentials && verdict.status != nil }
}
