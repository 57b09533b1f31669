import Policy
import Spool

/// The result of one listing of the queue.
struct Pass {
    /// An older operation that a newer one of its key supersedes.
    struct Superseded {
        var entry: Entry
        /// The newer operation of the key.
        var newer: OperationID
        var sequence: SequenceKey
        /// Whether the newer operation's request carries the older one's changes too.
        var isMerged = false
    }

    /// The chosen operations, in dispatch order.
    var chosen: [Candidate] = []
    /// The number of due operations beyond the limit.
    var leftDue = 0
    /// The number of operations waiting for a time, their own or their destination's. Excludes operations waiting for
    /// an operator.
    var waiting = 0
    /// Whether operations with an order are left to other processes, which have their sequence locks.
    var isLeftToOthers = false
    /// Due operations with an order that this pass could not decide, at most `WithheldOperations.most`, and why.
    /// Without a reason the next pass decides.
    private(set) var undecided: [OperationID] = []
    var undecidedBecause: String?
    var nextDue: Timestamp?
    private(set) var superseded: [Superseded] = []
    /// The older operations merged with each chosen one, oldest first.
    private(set) var merged: [OperationID: [Entry]] = [:]
    /// The sequences with superseded operations left by this pass to the next listing.
    private(set) var unlisted: Set<SequenceKey> = []
    /// The entries of the operations that supersede others of the first listing, as far as they wait.
    var newer: [OperationID: Entry] = [:]
    /// Operations expired while waiting: at most the limit, and at most a portion.
    var expired: [Candidate] = []
    /// The number of expired operations beyond `expired`.
    var leftExpired = 0
    /// The number of due operations held behind a failed operation of their sequence.
    var heldBehindFailed = 0
    /// The operations deferred or held by the run that wait, or are held, as before.
    var standing: Set<Age> = []
    /// The operations that wait for a witness, each with the digest of its destination.
    var parked: [(operation: Age, destination: Digest)] = []
    /// The errors that kept the listing from a part of what it needs.
    var errors: [SpoolError] = []
    /// The number of files in `new/` whose names are not canonical.
    var foreign = 0
    /// The time at which the listing has asked what is due.
    let moment: Timestamp
    /// The start of the listing, by the monotonic clock.
    let began: ContinuousClock.Instant
    /// The duration of the listing. The wait for the next listing is proportional to this cost.
    var cost: Duration = .zero

    /// Whether operations wait that this run may send later, also after another process has given their order back.
    var leavesWaiting: Bool { waiting > 0 || !undecided.isEmpty || isLeftToOthers }

    /// Whether there is nothing to claim.
    var isEmpty: Bool { chosen.isEmpty && expired.isEmpty && superseded.allSatisfy(\.isMerged) }

    /// Adds a superseded operation. Only notes its sequence if there are `most` already: no newer operation of the
    /// sequence is sent before all of them are gone. Has no bound for operations whose changes a newer one carries.
    mutating func supersede(_ older: Superseded, atMost most: Int) {
        if older.isMerged || superseded.count < most {
            superseded.append(older)
        } else {
            unlisted.insert(older.sequence)
        }
    }

    mutating func removeSuperseded(where isOut: (Superseded) -> Bool) { superseded.removeAll(where: isOut) }

    /// The most operations merged by one request. Bounds the time until the run hears a signal.
    private static let mostMerged = 1_000

    /// Moves the operations to be merged out of the superseded ones. If a key has more operations than a request takes,
    /// the oldest of them go first, under the newest of these. Returns whether the run has to list again for the rest.
    mutating func takeMerged() -> Bool {
        for older in superseded where older.isMerged { merged[older.newer, default: []].append(older.entry) }
        if merged.isEmpty { return false }
        removeSuperseded(where: \.isMerged)
        for id in merged.keys {
            merged[id]!.sort { ($0.name.createdAt, $0.name.id) < ($1.name.createdAt, $1.name.id) }
        }
        var isRestLeft = false
        for (index, candidate) in chosen.enumerated() {
            let id = candidate.entry.name.id
            guard let older = merged[id], older.count >= Self.mostMerged else { continue }
            let leader = older[Self.mostMerged - 1]
            merged[id] = nil
            merged[leader.name.id] = Array(older[..<(Self.mostMerged - 1)])
            chosen[index] = Candidate(
                entry: leader, destination: candidate.destination, sequence: candidate.sequence,
                isHead: candidate.isHead)
            isRestLeft = true
        }
        return isRestLeft
    }

    /// Leaves a due operation, whose order is not known.
    mutating func leaveUndecided(_ id: OperationID) {
        leftDue += 1
        if undecided.count < WithheldOperations.most { undecided.append(id) }
    }

    /// Adds an expired operation. Only counts it if there are `most` already.
    mutating func noteExpired(_ candidate: Candidate, atMost most: Int) {
        if expired.count < most { expired.append(candidate) } else { leftExpired += 1 }
    }

    mutating func noteDue(_ moment: Timestamp) {
        nextDue = min(nextDue ?? moment, moment)
    }
}
