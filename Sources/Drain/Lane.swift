import Policy
import Spool

/// One destination within a run: what it may be sent now, and what has been learned of it.
final class Lane {
    var destination: Destination
    /// What it may be sent, by all that is known of it.
    private(set) var access: DestinationAccess
    var pace: Pace
    /// The configuration's conditions are not met for it.
    var lacksConditions = false
    /// This machine may have no network: one attempt has to show it.
    var isCautious = false
    /// An attempt of this run has come back from it.
    var hasBeenHeard = false
    /// The samples have said nothing: nothing more is sent to it in this run.
    var isLeft = false
    /// The first permanent answers in this run, which may mean more together.
    var storm: StormGuard<Withheld>
    /// Answers that would hold the destination, of which others are to be asked first.
    var suspicion: StormGuard<Withheld>?
    /// The credentials that these were refused with; `nil` where they were refused for something else.
    var suspectedCredentials: String?
    /// To be attempted before anything else, and alone: samples, and the halves of a batch that was refused.
    var urgent: [Work] = []
    /// Due, and not chosen: the newest, for samples.
    var newest: [Candidate] = []
    /// Due in this pass's listing: passed over because it was closed already, offered to be chosen, and chosen.
    var skipped = 0
    var offered = 0
    var chosen = 0
    /// Of those that were offered, how many are not due any more.
    var done = 0
    var inFlight = 0
    /// Its number in the order of a round that it takes part in.
    var line = 0
    /// When it last refused secrets that had just been looked up anew.
    var refusedFreshSecrets: ContinuousClock.Instant?
    /// What makes its requests, by type.
    var makers: [TypeName: RequestMaker] = [:]

    init(_ destination: Destination, _ settings: DestinationSettings, _ state: DestinationState) {
        self.destination = destination
        access = DestinationAccess(settings, state)
        pace = Pace(interval: settings.rate?.interval)
        storm = StormGuard(threshold: settings.stormGuard)
    }

    /// What a listing says anew.
    func beginPass() {
        (skipped, offered, chosen, done) = (0, 0, 0, 0)
        newest = []
    }

    var settings: DestinationSettings { access.settings }

    /// As the ledger has it, with what this run has learned since.
    var state: DestinationState {
        get { access.state }
        set { access.state = newValue }
    }

    /// What the ledger has not been told yet.
    var events: [DestinationEvent] {
        get { access.events }
        set { access.events = newValue }
    }

    /// Why nothing more goes there in this pass.
    var block: Availability.Block? {
        get { access.block }
        set { access.block = newValue }
    }

    var isProbing: Bool { access.isProbing }

    /// Opens or closes by what is known at `now`.
    func open(at now: Timestamp, ignoringCoolDown: Bool) {
        access.open(at: now, ignoringCoolDown: ignoringCoolDown)
    }

    /// Takes over what a person has said of it since, see `DestinationAccess.hear`.
    func hear(_ told: DestinationState) {
        access.hear(told)
    }

    /// Takes an event in, for this run at once and for the ledger later.
    func note(_ event: DestinationEvent, at now: Timestamp, ignoringCoolDown: Bool) {
        access.note(event, at: now, ignoringCoolDown: ignoringCoolDown)
    }

    /// Something is to be done out of turn, or waits for others to be asked.
    var isUnusual: Bool { !urgent.isEmpty || !withheld.isEmpty }

    var isSampling: Bool { storm.phase == .sampling || suspicion?.phase == .sampling }

    /// How many attempts of what is in the order may be in flight.
    var allowance: Int {
        isClosed || isSampling || !urgent.isEmpty ? 0 : min(access.allowance, isCautious ? 1 : .max)
    }

    var isClosed: Bool { block != nil || lacksConditions || isLeft }

    /// Nothing waits or is in flight that could still say what the withheld answers mean.
    var isQuiet: Bool { inFlight == 0 && urgent.isEmpty }

    /// Answers that are not acted on yet.
    var withheld: [Withheld] { storm.withheld + (suspicion?.withheld ?? []) }

    /// Nothing is to be done any more in this pass; what was withheld is nobody's.
    func forgetWork() {
        urgent = []
        suspicion = nil
        _ = storm.abandon()
    }

    /// Of a suspicion nothing is left to do once all that it withheld has been settled or held for.
    func forgetSettledSuspicion() {
        if suspicion?.withheld.isEmpty ?? false { suspicion = nil }
    }

    /// Whether it is on this machine: no network is no reason not to ask it.
    var isLocal: Bool { destination.isLocal(settings) }
}

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

/// An operation that is claimed and read.
struct Member {
    let claim: Claim
    var operation: Operation
    var sequence: SequenceKey?
    /// Older operations of its key that its request carries too, oldest first. They are not claimed: what has an order is
    /// claimed by this run alone.
    var merged: [MergedOperation] = []
}

/// An operation whose payload is part of the document that a newer one sends.
struct MergedOperation {
    let entry: Entry
    let operation: Operation
}

/// What one request carries: an operation, or several in a batch.
struct Flight {
    var members: [Member]
    let lane: Lane
    let maker: RequestMaker
    var began: Timestamp
    /// It was sent to find out whether others meet the same end.
    var isSample = false
    /// Another one was delivered with the same credentials: refused again, it fails.
    var isWitnessed = false
    /// It goes to a destination that is held.
    var isProbe = false
    /// Its request carried other operations besides.
    var isShared = false
    /// What it was sent with.
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

/// What is to be attempted out of turn.
enum Work {
    case sample(Candidate)
    case claimed(Flight)
}

/// An answer that is not acted on yet.
struct Withheld {
    var flight: Flight
    var report: SealedReport
    /// For each of its operations.
    var verdict: Verdict
    /// No request could be made: nothing was sent.
    var isUnsent = false
    /// Those behind it in its sequence go meanwhile, as they would if it failed; they fail or are put back with it.
    var letsOthersGo = false
    /// Another one was delivered while it waited: its failure is no part of a storm.
    var isContradicted = false
}
