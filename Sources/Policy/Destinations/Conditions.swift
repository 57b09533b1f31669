/// The conditions under which a run makes attempts: the machine's network and power.
package struct Conditions: Hashable, Sendable {
    package enum Network: String, Hashable, Sendable, CaseIterable {
        case any
        /// An interface is up, and there is a default route.
        case online
        /// Online, and not metered; unmetered if it is not known.
        case unmetered
    }

    package enum Power: Hashable, Sendable {
        case any
        /// On mains power; a machine without a battery always is.
        case mains
        /// On battery, a run waits for this time before it sends anything.
        case delayOnBattery(Duration)
    }

    package var network: Network
    package var power: Power

    package init(network: Network = .any, power: Power = .any) {
        self.network = network
        self.power = power
    }
}

/// The state of the machine at the moment.
package struct Surroundings: Hashable, Sendable {
    package var isOnline: Bool
    /// Whether the network is metered; `nil` if it is not known.
    package var isMetered: Bool?
    package var isOnBattery: Bool

    package init(isOnline: Bool = true, isMetered: Bool? = nil, isOnBattery: Bool = false) {
        self.isOnline = isOnline
        self.isMetered = isMetered
        self.isOnBattery = isOnBattery
    }
}

extension Conditions {
    package enum Decision: Hashable, Sendable {
        /// Attempts begin `delay` after the run has found something to send.
        case go(delay: Duration)
        /// The run makes no attempts, for this reason: `the network is metered, and conditions.network is 'unmetered'`.
        case wait(reason: String)
    }

    /// Returns whether a run may make attempts in these surroundings.
    package func decision(in surroundings: Surroundings) -> Decision {
        if network != .any, !surroundings.isOnline {
            return .wait(reason: "there is no network, and conditions.network is '\(network.rawValue)'")
        }
        if network == .unmetered, surroundings.isMetered == true {
            return .wait(reason: "the network is metered, and conditions.network is 'unmetered'")
        }
        guard surroundings.isOnBattery else { return .go(delay: .zero) }
        switch power {
        case .any: return .go(delay: .zero)
        case .mains: return .wait(reason: "the machine runs on battery, and conditions.power is 'ac'")
        case .delayOnBattery(let delay): return .go(delay: delay)
        }
    }

    /// Returns why a run makes no attempts in these surroundings: to other machines, and to this one, which needs no
    /// network; `nil` if it makes them.
    package func refusals(in surroundings: Surroundings) -> (elsewhere: String?, here: String?) {
        func reason(_ conditions: Conditions) -> String? {
            if case .wait(let reason) = conditions.decision(in: surroundings) { reason } else { nil }
        }
        return (reason(self), reason(Conditions(power: power)))
    }

    /// Whether there are no conditions, so that a run does not have to look at the machine.
    package var asksNothing: Bool { network == .any && power == .any }
}
