/// What runs remember of a destination from one to the next: `state/destinations.json`, shown by `status`.
///
/// Losing it costs a probe, never an operation; only what a person asked for (`pause`, a hold by hand) is lost with it.
/// It changes by events alone (`apply`), which are applied to what the file says at that moment under its lock: runs that
/// share a destination do not overwrite each other's knowledge.
package struct DestinationState: Hashable, Sendable {
    /// Why nothing is sent until somebody or something ends it.
    package struct Hold: Hashable, Sendable {
        package var reason: String
        package var since: Timestamp
        /// A person's own; never probed, and ended by `release` alone.
        package var isByHand: Bool
        /// What configuration and credentials were when it began, see `CredentialFingerprint`; a change ends it.
        package var blamed: String?
        package var lastProbe: Timestamp?

        package init(
            reason: String, since: Timestamp, isByHand: Bool = false, blamed: String? = nil,
            lastProbe: Timestamp? = nil
        ) {
            self.reason = reason
            self.since = since
            self.isByHand = isByHand
            self.blamed = blamed
            self.lastProbe = lastProbe
        }
    }

    package var hold: Hold?
    /// A person has asked for a pause.
    package var isPaused: Bool
    /// The server has asked for time until then.
    package var notBefore: Timestamp?
    /// Connection-level failures in a row.
    package var failures: Int
    package var lastFailure: String?
    /// The cool-down after too many of them.
    package var suspendedUntil: Timestamp?
    /// Suspensions in a row, without an answer in between.
    package var suspensions: Int
    /// How many attempts at once while it opens again: 1, 2, 4, …; `nil` when it is open.
    package var window: Int?
    package var lastSuccess: Timestamp?

    package init(
        hold: Hold? = nil, isPaused: Bool = false, notBefore: Timestamp? = nil, failures: Int = 0,
        lastFailure: String? = nil, suspendedUntil: Timestamp? = nil, suspensions: Int = 0, window: Int? = nil,
        lastSuccess: Timestamp? = nil
    ) {
        self.hold = hold
        self.isPaused = isPaused
        self.notBefore = notBefore
        self.failures = failures
        self.lastFailure = lastFailure
        self.suspendedUntil = suspendedUntil
        self.suspensions = suspensions
        self.window = window
        self.lastSuccess = lastSuccess
    }

    /// Whether there is nothing to remember.
    package var isBlank: Bool { self == DestinationState() }
}

/// What changes a destination's state.
package enum DestinationEvent: Hashable, Sendable {
    /// An answer came, whatever it said: the server is there.
    case answered
    case delivered
    /// A connection-level failure, by its name, or a status that says the server behind a gateway is away.
    case unreachable(String)
    /// The server asked for time until then.
    case askedToWait(until: Timestamp)
    case held(reason: String, blamed: String?)
    /// A probe of a hold met the same end.
    case probed
    case heldByHand(reason: String)
    /// By a person: ends hold, cool-down and the server's wait.
    case released
    /// What the hold was blamed on has changed.
    case blameChanged
    case paused
    case resumed
}

extension DestinationState {
    /// The state after an event at `now`. Pure; the same events in another order of runs lead to a state that is as safe.
    package mutating func apply(_ event: DestinationEvent, _ settings: DestinationSettings, at now: Timestamp) {
        switch event {
        case .answered:
            failures = 0
            lastFailure = nil
            suspendedUntil = nil
            suspensions = 0
        case .delivered:
            apply(.answered, settings, at: now)
            if hold?.isByHand == false { hold = nil }
            if let notBefore, notBefore <= now { self.notBefore = nil }
            lastSuccess = max(lastSuccess ?? now, now)
            if let window { self.window = window >= Self.widest ? nil : window * 2 }
        case .unreachable(let name):
            failures += 1
            lastFailure = name
            // One that failed while it was opening is as away as before.
            let wasOpening = window != nil && suspensions > 0
            if settings.suspendAfter > 0, failures >= settings.suspendAfter || wasOpening,
                suspendedUntil.map({ $0 <= now }) ?? true
            {
                suspendedUntil = now + Self.coolDown(after: suspensions, settings)
                suspensions = min(suspensions + 1, 1000)
                window = 1
            }
        case .askedToWait(let until):
            notBefore = max(notBefore ?? until, until)
            window = 1
        case .held(let reason, let blamed):
            if hold == nil { hold = Hold(reason: reason, since: now, blamed: blamed) }
            window = 1
        case .probed:
            hold?.lastProbe = now
        case .heldByHand(let reason):
            hold = Hold(reason: reason, since: now, isByHand: true)
        case .released:
            let kept = DestinationState(isPaused: isPaused, window: 1, lastSuccess: lastSuccess)
            self = kept
        case .blameChanged:
            if hold?.isByHand == false {
                hold = nil
                window = 1
            }
        case .paused: isPaused = true
        case .resumed: isPaused = false
        }
    }

    /// From this width on the window is as good as open.
    static let widest = 64

    static func coolDown(after suspensions: Int, _ settings: DestinationSettings) -> Duration {
        var coolDown = settings.coolDown
        for _ in 0..<min(suspensions, 32) where coolDown < settings.coolDownMax { coolDown = coolDown * 2 }
        return min(coolDown, max(settings.coolDown, settings.coolDownMax))
    }
}

/// Whether a destination may be sent anything now.
package enum Opening: Hashable, Sendable {
    /// So many attempts at once.
    case open(atOnce: Int)
    /// One attempt, to see whether it is worth more. A hold is probed with the newest operation that is due.
    case probe
    case closed(Closure)

    package struct Closure: Hashable, Sendable {
        package enum Reason: Hashable, Sendable {
            case paused
            case held
            case askedToWait
            case suspended
        }

        package var reason: Reason
        /// When it may be asked again; `nil` where only a person ends it.
        package var until: Timestamp?

        package init(_ reason: Reason, until: Timestamp? = nil) {
            self.reason = reason
            self.until = until
        }
    }
}

extension DestinationState {
    /// Whether, and how much at once, a destination may be sent.
    ///
    /// `ignoringCoolDown` (`--now`) overrides a suspension, never what a person or the server asked for. Clocks jump: a
    /// wait that lies further ahead than anything could have set it is over.
    package func opening(
        _ settings: DestinationSettings, at now: Timestamp, ignoringCoolDown: Bool = false
    ) -> Opening {
        if isPaused { return .closed(.init(.paused)) }
        if let hold {
            if hold.isByHand { return .closed(.init(.held)) }
            guard let every = settings.holdProbe else { return .closed(.init(.held)) }
            let last = max(hold.lastProbe ?? hold.since, hold.since)
            let next = last + every
            return next <= now || last > now ? .probe : .closed(.init(.held, until: next))
        }
        if let notBefore, notBefore > now, notBefore - now <= settings.retryAfterMax + RetryAfter.longestJitter {
            return .closed(.init(.askedToWait, until: notBefore))
        }
        if let suspendedUntil {
            if suspendedUntil > now, suspendedUntil - now <= max(settings.coolDown, settings.coolDownMax),
                !ignoringCoolDown
            {
                return .closed(.init(.suspended, until: suspendedUntil))
            }
            return .probe
        }
        if let window {
            return window <= 1 ? .probe : .open(atOnce: min(window, settings.concurrency ?? .max))
        }
        return .open(atOnce: settings.concurrency ?? .max)
    }
}
