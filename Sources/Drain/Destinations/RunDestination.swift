import Policy

/// One destination of a run, or of `send`: its control, which decides, and its waiting work.
final class RunDestination {
    var control: DestinationControl
    let limits: DestinationLimits
    /// Work before the dispatch order, one at a time: samples, and operations sent in a request of their own, or
    /// resent.
    var urgent: [Work] = []
    /// The newest due operations not chosen, for samples.
    var newest: [Candidate] = []
    /// Counts of the due operations in this pass's listing: skipped because the destination was blocked already,
    /// offered for selection, and chosen.
    var skipped = 0
    var offered = 0
    var chosen = 0
    /// The number of offered operations no longer due.
    var done = 0
    var inFlight = 0
    /// Its index in `SendQueue.destinations`; stale before the pass appends the destination.
    var queueIndex = 0
    /// The time of its last refusal of secrets just looked up again.
    var refusedFreshSecrets: ContinuousClock.Instant?
    /// Its request makers by operation type.
    var makers: [TypeName: RequestMaker] = [:]
    /// The last of them to be asked for: most operations have the type of the one before.
    var lastMaker: (type: TypeName, maker: RequestMaker)?

    /// By default, `limits` are of this process alone.
    init(
        _ identity: Destination, _ settings: DestinationSettings, _ state: DestinationState,
        limits: DestinationLimits? = nil, concurrency: AdaptiveConcurrency? = nil
    ) {
        control = DestinationControl(identity, settings, state, concurrency: concurrency)
        self.limits = limits ?? DestinationLimits(settings)
    }

    var identity: Destination { control.destination }
    var name: String { identity.name }
    var digest: Digest { identity.digest }
    var settings: DestinationSettings { control.settings }
    var state: DestinationState { control.state }
    var block: Availability.Block? { control.block }
    var isBlocked: Bool { control.isBlocked }
    /// Resets the counts of the previous listing.
    func beginPass() {
        (skipped, offered, chosen, done) = (0, 0, 0, 0)
        newest = []
    }

    /// Whether the destination has urgent work or withheld answers.
    var needsAttention: Bool { !urgent.isEmpty || control.isWithholding }

    /// The most attempts of the dispatch order that may be in flight.
    var concurrencyLimit: Int { urgent.isEmpty ? control.concurrencyLimit : 0 }

    /// Whether the dispatch order may hand out an operation.
    func turn(at elapsed: Duration) -> DispatchOrder.Turn {
        let limit = concurrencyLimit
        if limit == 0 { return .never }
        let wait = limits.wait(at: elapsed)
        return wait == .zero ? .ready(upTo: limit) : wait <= Self.soon ? .soon : .never
    }

    /// The longest wait for a turn of the rate during which a slot is kept.
    private static let soon = Duration.seconds(1)

    /// Whether no work is urgent or in flight that could still decide the withheld answers.
    var isQuiet: Bool { inFlight == 0 && urgent.isEmpty }

    /// Whether the destination is on this machine, and so needs no network.
    var isLocal: Bool { identity.isLocal(settings) }
}
