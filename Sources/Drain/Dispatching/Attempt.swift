import Policy
import Spool

/// An operation of an attempt.
struct Member {
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

    /// The claims on all operations of its request.
    var claims: [Claim] { parts.map(\.claim) + (claim.map { [$0] } ?? []) }
}

/// One request, for one operation or for several in a batch.
struct Attempt {
    var members: [Member]
    let destination: RunDestination
    let maker: RequestMaker
    var began: Timestamp
    /// The start of its measurement, if the number of attempts in flight adapts; else `nil`.
    var start: AdaptiveConcurrency.Start?
    /// Whether the attempt is a sample, a test whether others fail the same way.
    var isSample = false
    /// Whether another operation was delivered with the same credentials. If refused again, this operation fails.
    var isWitnessed = false
    /// The step of its probe; `nil` if its destination is not held.
    var probe: Probe?
    /// Whether its request also carried other operations.
    var isShared = false
    /// The secrets in its request.
    var secrets = SecretValues.none
    /// Redacts everything that the answer may echo.
    var redaction = Redaction.none
    /// Whether the attempt was refused with the earlier secrets.
    var hasFreshSecrets = false
    /// The number of requests sent by this run for its operations without counting an attempt.
    var unchargedCount = 0

    var route: Route { maker.route }

    /// Whether the attempt probes a held destination.
    var isProbe: Bool { probe != nil }

    /// Whether its request carries the changes of several operations of one key.
    var isMerged: Bool { members.contains { !$0.parts.isEmpty } }
}

extension Attempt {
    /// A step of the probe of a held destination.
    enum Probe {
        case planned
        /// The ledger has it, so that no other process sends a probe.
        case begun
    }
}

/// Work that skips the dispatch order.
enum Work {
    case sample(Candidate)
    case claimed(Attempt)
}
