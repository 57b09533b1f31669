/// Whether a destination may be sent anything now. `DestinationAccess` decides the same within a run, from what the run learns;
/// `WaitReason` says it of an operation.
package enum Availability: Hashable, Sendable {
    /// So many attempts at once.
    case open(atOnce: Int)
    /// One attempt, to see whether it is worth more. A hold is probed with the newest operation that is due.
    case probe
    case closed(Block)

    package struct Block: Hashable, Sendable {
        package enum Reason: Hashable, Sendable {
            case paused
            case held
            case retryAfter
            case circuitBreaker
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
    /// `ignoringCircuitBreaker` (`--now`) overrides an open circuit breaker, never what a person or the server asked for. Clocks
    /// jump: a wait that lies further ahead than anything could have set it is over, and a probe that was made in the
    /// future is due.
    package func availability(
        _ settings: DestinationSettings, at now: Timestamp, ignoringCircuitBreaker: Bool = false
    ) -> Availability {
        if isPaused { return .closed(.init(.paused)) }
        let asked = wait(at: now)
        let coolDown = ignoringCircuitBreaker ? nil : coolDown(settings, at: now)
        if let hold {
            guard let probe = hold.nextProbe(settings, at: now) else { return .closed(.init(.held)) }
            // No hurry: a probe keeps to what else is asked for.
            let next = [probe, asked, coolDown].compactMap { $0 }.max()!
            return next <= now ? .probe : .closed(.init(.held, until: next))
        }
        if let asked { return .closed(.init(.retryAfter, until: asked)) }
        if let coolDown { return .closed(.init(.circuitBreaker, until: coolDown)) }
        // After a cool-down the window is one wide.
        if let window, window <= 1 { return .probe }
        return .open(atOnce: max(1, min(window ?? .max, settings.concurrency ?? .max)))
    }

    /// Until when the server asked for time; `nil` where that is over.
    func wait(at now: Timestamp) -> Timestamp? {
        guard let notBefore, notBefore > now, notBefore - now <= Self.longestWait else { return nil }
        return notBefore
    }

    /// Until when the circuit breaker is open; `nil` where it is not, or where it is turned off.
    func coolDown(_ settings: DestinationSettings, at now: Timestamp) -> Timestamp? {
        guard let coolDownUntil, coolDownUntil > now, settings.circuitBreaker > 0,
            coolDownUntil - now <= settings.coolDown
        else { return nil }
        return coolDownUntil
    }

    /// The longest wait that one answer gets, with its jitter.
    static let longestWait = RetryAfter.longest + RetryAfter.longestJitter
}

extension DestinationState.Hold {
    /// When it is probed next; `nil` where only a person, or what it is blamed on, ends it.
    fileprivate func nextProbe(_ settings: DestinationSettings, at now: Timestamp) -> Timestamp? {
        guard !isByHand, let every = settings.holdProbe else { return nil }
        let last = lastProbe ?? since
        return last > now ? now : last + every
    }
}
