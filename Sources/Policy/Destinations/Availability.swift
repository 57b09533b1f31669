/// Whether a destination may get attempts now. `DestinationAccess` decides it within a run, from what the run learns;
/// `WaitReason` tells it for an operation.
package enum Availability: Hashable, Sendable {
    /// Up to this number of attempts at once.
    case available(atOnce: Int)
    /// One attempt, which shows whether more make sense. A hold is probed with the newest due operation.
    case probe
    case blocked(Block)

    package struct Block: Hashable, Sendable {
        package enum Reason: Hashable, Sendable {
            case paused
            case held
            case retryAfter
            case circuitBreaker
        }

        package var reason: Reason
        /// The time from which the destination may get attempts again; `nil` if no time ends the block.
        package var until: Timestamp?

        package init(_ reason: Reason, until: Timestamp? = nil) {
            self.reason = reason
            self.until = until
        }

        /// Whether the block stops an operation with this number of attempts. An open circuit breaker keeps only
        /// operations without an attempt back: it never makes a schedule longer than the schedule.
        package func stops(attempts: Int) -> Bool { reason != .circuitBreaker || attempts == 0 }
    }
}

extension DestinationState {
    /// Returns whether the destination may get attempts now, and how many at once.
    ///
    /// `ignoringCircuitBreaker` (`--now`) overrides an open circuit breaker, never a stop by an operator or a
    /// retry-after. Clocks jump: a wait that lies further ahead than anything could have set it is over, and a hold
    /// whose last probe is in the future is due for a probe.
    package func availability(
        _ settings: DestinationSettings, at now: Timestamp, ignoringCircuitBreaker: Bool = false
    ) -> Availability {
        if isPaused { return .blocked(.init(.paused)) }
        let asked = wait(at: now)
        let coolDown = ignoringCircuitBreaker ? nil : coolDown(settings, at: now)
        if let hold {
            guard let probe = hold.nextProbe(settings, at: now) else { return .blocked(.init(.held)) }
            // A probe also waits for a retry-after and for the circuit breaker.
            let next = [probe, asked, coolDown].compactMap { $0 }.max()!
            return next <= now ? .probe : .blocked(.init(.held, until: next))
        }
        if let asked { return .blocked(.init(.retryAfter, until: asked)) }
        if let coolDown { return .blocked(.init(.circuitBreaker, until: coolDown)) }
        // The window is one wide after the circuit breaker was open.
        if let window, window <= 1 { return .probe }
        return .available(atOnce: max(1, min(window ?? .max, settings.concurrency ?? .max)))
    }

    /// Returns what operations of the destination wait for, beside their own schedules; `nil` if for nothing.
    package func waits(_ settings: DestinationSettings, at now: Timestamp) -> DestinationWaits? {
        let waits = DestinationWaits(
            parked: parking.waits(settings, at: now), asked: wait(at: now).map { $0 - now } ?? .zero)
        return waits == DestinationWaits() ? nil : waits
    }

    /// Returns the time until which requests that no run plans wait, for server or circuit breaker; `nil` if at once.
    package func wait(_ settings: DestinationSettings, at now: Timestamp) -> Timestamp? {
        [wait(at: now), coolDown(settings, at: now)].compactMap(\.self).max()
    }

    /// Returns the time until which the server asked for time; `nil` if the time is over.
    func wait(at now: Timestamp) -> Timestamp? {
        guard let notBefore, notBefore > now, notBefore - now <= Self.longestWait else { return nil }
        // A wait that the server asked for in the future is of a wrong clock, and ends with it.
        if let asked, asked - now > Self.longestSkew { return nil }
        return notBefore
    }

    /// The longest difference between the clocks of hosts that are right.
    private static let longestSkew = Duration.seconds(60)

    /// Returns the time until which the circuit breaker is open; `nil` if the circuit breaker is closed or turned off.
    func coolDown(_ settings: DestinationSettings, at now: Timestamp) -> Timestamp? {
        guard let coolDownUntil, coolDownUntil > now, settings.circuitBreaker > 0,
            coolDownUntil - now <= settings.coolDown
        else { return nil }
        return coolDownUntil
    }

    /// The longest wait from one answer, with its jitter.
    static let longestWait = RetryAfter.longest + RetryAfter.longestJitter
}

extension DestinationState.Hold {
    /// Returns the time of the next probe; `nil` if only a person ends the hold, or a change of its cause.
    fileprivate func nextProbe(_ settings: DestinationSettings, at now: Timestamp) -> Timestamp? {
        guard !isByHand, let every = settings.holdProbe else { return nil }
        let last = lastProbe ?? since
        return last > now ? now : last + every
    }
}

/// What the operations of a destination wait for by its state.
package struct DestinationWaits: Hashable, Sendable {
    /// The operations that wait for a witness, with the end of their wait.
    package var parked: [Age: Timestamp] = [:]
    /// The time for which the server still asks.
    package var asked = Duration.zero

    package init(parked: [Age: Timestamp] = [:], asked: Duration = .zero) {
        self.parked = parked
        self.asked = asked
    }
}
