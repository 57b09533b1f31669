import Policy
import Spool

/// An operation of an attempt.
final class Member {
    var name: EntryName
    /// `nil` for an operation without a file (`send --no-queue`).
    var claim: Claim?
    var operation: Operation
    var sequence: SequenceKey?
    /// Older operations of its key in the same request, oldest first, each with a claim of its own.
    var parts: [Part] = []

    init(claim: Claim, operation: Operation, sequence: SequenceKey? = nil) {
        name = claim.name
        self.claim = claim
        self.operation = operation
        self.sequence = sequence
    }

    init(operation: Operation, name: EntryName, claim: Claim? = nil) {
        self.name = name
        self.claim = claim
        self.operation = operation
    }
}

extension Member {
    /// An operation whose payload is part of a newer operation's document.
    struct Part {
        let claim: Claim
        let operation: Operation
    }

    /// Whether an earlier request may have arrived, of its operation and of each part.
    var mayHaveArrived: Bool {
        operation.mayHaveArrived(name) && parts.allSatisfy { $0.operation.mayHaveArrived($0.claim.name) }
    }

    /// The claims on all operations of its request.
    var claims: [Claim] {
        let own = claim.map { [$0] } ?? []
        return parts.isEmpty ? own : parts.map(\.claim) + own
    }
}

/// One request, for one operation or for several in a batch.
final class Attempt {
    var members: [Member]
    let destination: RunDestination
    let maker: RequestMaker
    var began: Timestamp
    /// The start of its measurement, if the number of attempts in flight adapts; else `nil`.
    var start: AdaptiveConcurrency.Start?
    /// Whether the attempt is a sample, a test whether others fail the same way.
    var isSample = false
    /// The credentials with which its operation was refused and another one delivered. If refused with them again, this
    /// operation fails.
    var witnessed: RequestCredentials?
    /// The step of its probe; `nil` if its destination is not held.
    var probe: Probe?
    /// Whether its request also carried other operations.
    var isShared = false
    /// The batch from which its operations were isolated; `nil` for operations that no other request has carried.
    var origin: SplitBatch?
    /// The answer to that batch, if it refused these operations; `nil` if the batch was not sent.
    var refusal: (report: SealedReport, verdict: Verdict)?
    /// Its request, with the claims in it; `nil` before the handover.
    var request: RequestInFlight?
    /// The secrets in its request.
    var secrets = SecretValues.none
    /// The credentials in its request.
    var credentials = RequestCredentials.unknown
    /// Redacts everything that the answer may echo: the secrets of all requests of this run for its operations.
    var redaction = Redaction.none
    /// Its request, and the fields that the route's command gave for it, if the attempt has waited for them.
    var signature: Signature?
    /// Whether the attempt was refused with the earlier secrets.
    var hasFreshSecrets = false
    /// Whether a request sent by this run for its operations had no answer, and left no record.
    var isAfterUnknown = false
    /// The number of requests sent by this run for its operations without counting an attempt.
    var unchargedCount = 0

    init(members: [Member], destination: RunDestination, maker: RequestMaker, began: Timestamp) {
        (self.members, self.destination, self.maker, self.began) = (members, destination, maker, began)
    }

    /// Creates an attempt like another one, of these operations.
    convenience init(_ other: Attempt, of members: [Member]) {
        self.init(members: members, destination: other.destination, maker: other.maker, began: other.began)
        (start, isSample, witnessed, probe) = (other.start, other.isSample, other.witnessed, other.probe)
        (isShared, origin, refusal) = (other.isShared, other.origin, other.refusal)
        (request, secrets) = (other.request, other.secrets)
        (credentials, redaction, signature) = (other.credentials, other.redaction, other.signature)
        (hasFreshSecrets, isAfterUnknown) = (other.hasFreshSecrets, other.isAfterUnknown)
        unchargedCount = other.unchargedCount
    }

    /// The claims on all operations of its request.
    var claims: [Claim] { members.count == 1 ? members[0].claims : members.flatMap(\.claims) }

    /// The number of counted attempts of its first operation.
    var attempts: Int { members.first?.name.attempts ?? 0 }

    /// Whether the attempt probes a held destination.
    var isProbe: Bool { probe != nil }

    /// Whether its request carries the changes of several operations of one key.
    var isMerged: Bool { members.contains { !$0.parts.isEmpty } }

    /// The operations of which an earlier request may have arrived.
    var repeated: Set<OperationID> {
        Set(members.filter { isAfterUnknown || $0.mayHaveArrived }.map(\.operation.header.id))
    }
}

/// A batch whose operations are sent again in smaller requests, to find those that are to blame.
final class SplitBatch {
    /// Whether one of its operations was delivered: then a permanent answer to another one is about that one alone.
    var hasDelivered = false
}

extension Attempt {
    typealias Signature = (made: RequestMaker.Made, fields: Result<[HeaderField], RequestError>)

    /// A step of the probe of a held destination.
    enum Probe {
        case planned
        /// The ledger has it, so that no other process sends a probe.
        case begun
    }
}

/// Work that skips the dispatch order.
enum Work {
    /// `position`: the operation's place in the order; `nil` if the operation was not chosen.
    case sample(Candidate, position: Int?)
    case claimed(Attempt)
}
