import Policy
import Spool

/// An entry that is due, where it goes, and what it must not overtake.
///
/// A class, because tens of thousands are sorted and handed on.
final class Candidate {
    let entry: Entry
    let destination: Destination
    let sequence: SequenceKey?
    /// None of its sequence stands before it.
    let isHead: Bool

    init(entry: Entry, destination: Destination, sequence: SequenceKey?, isHead: Bool) {
        self.entry = entry
        self.destination = destination
        self.sequence = sequence
        self.isHead = isHead
    }
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
    /// It was sent to find out whether others meet the same end.
    var isSample = false
    /// Another one was delivered with the same credentials: refused again, it fails.
    var isWitnessed = false
    /// It probes a held destination.
    var isProbe = false
    /// Its request carried other operations besides.
    var isShared = false
    /// The secrets it was sent with.
    var secrets = SecretValues.none
    /// Redacts everything that the answer may echo.
    var redaction = Redaction.none
    /// It has been refused with the secrets that there were before.
    var hasFreshSecrets = false
    /// How many requests this run has sent for its operations that are not charged to them.
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
    /// No request could be made: nothing was sent.
    var isUnsent = false
    /// Those behind it in its sequence go meanwhile, as they would if it failed; they fail or are put back with it.
    var letsOthersGo = false
    /// Another one was delivered while it waited: its failure is no part of a storm.
    var isContradicted = false

    /// Whether the server refuses the credentials, or the operation with them.
    var isRefusal: Bool { verdict.accused() == .credentials && verdict.status != nil }
}
