import Policy

/// One destination of a run, or of `send`: its control, which decides, and the work that waits for it.
final class RunDestination {
    var control: DestinationControl<Attempt>
    let limits: DestinationLimits
    /// Work that goes before the dispatch order, one at a time: samples, and operations that are sent in a request of
    /// their own, or resent.
    var urgent: [Work] = []
    /// The newest operations that are due and not chosen, for samples.
    var newest: [Candidate] = []
    /// Counts of the due operations in this pass's listing: skipped because the destination was blocked already,
    /// offered for selection, and chosen.
    var skipped = 0
    var offered = 0
    var chosen = 0
    /// The number of offered operations that are no longer due.
    var done = 0
    var inFlight = 0
    /// Its index in `SendQueue.destinations`; stale before the pass appends it.
    var queueIndex = 0
    /// The time when it last refused secrets that had just been looked up again.
    var refusedFreshSecrets: ContinuousClock.Instant?
    /// Its request makers by operation type.
    var makers: [TypeName: RequestMaker] = [:]

    /// `limits` are by default those of this process alone.
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
    /// Whether it has not answered since its last failure.
    var isFailing: Bool { control.isFailing }

    /// Resets the counts of the previous listing.
    func beginPass() {
        (skipped, offered, chosen, done) = (0, 0, 0, 0)
        newest = []
    }

    /// Whether it has urgent work or withheld answers.
    var needsAttention: Bool { !urgent.isEmpty || control.isWithholding }

    /// The most attempts of the dispatch order that may be in flight.
    var concurrencyLimit: Int { urgent.isEmpty ? control.concurrencyLimit : 0 }

    /// Whether no work is urgent or in flight that could still decide the withheld answers.
    var isQuiet: Bool { inFlight == 0 && urgent.isEmpty }

    /// Discards the remaining work of this pass. The answers withheld until then have no effect.
    func forgetWork() {
        urgent = []
        control.forgetWithheld()
    }

    /// Whether it is on this machine, which needs no network.
    var isLocal: Bool { identity.isLocal(settings) }
}
