/// The state of every destination, as one document: `state/destinations.json`.
///
/// ```
/// { "version": 1, "offline": { "since": "…", "error": "dns" },
///   "destinations": { "https://api.example.com": { … } } }
/// ```
/// `offline` is there from the run that finds this machine without a network to the run that finds a network again.
/// `DestinationState` documents the fields of a destination. A destination with nothing to remember has no entry.
/// Reading fails only for a newer version, which may hold operations back that this program would send. A document that
/// is not a ledger reads as an empty ledger; of a damaged ledger, the rest is read. Losing the file costs a probe, and
/// a person's pauses and holds.
package struct DestinationLedger: Hashable, Sendable {
    package static let version = 1

    /// The time since which this machine has no network, and the error that showed it; `nil` if it has one.
    package var offline: Offline?
    /// The states by name, without blank ones.
    package private(set) var destinations: [String: DestinationState]

    package struct Offline: Hashable, Sendable {
        package var since: Timestamp
        package var error: NetworkError

        package init(since: Timestamp, error: NetworkError) {
            self.since = since
            self.error = error
        }
    }

    package init() { destinations = [:] }

    /// The state of a destination; a blank state if nothing is remembered.
    package subscript(name: String) -> DestinationState {
        destinations[name] ?? DestinationState()
    }

    /// Whether a destination is held or paused. Each change of such a ledger is synced. A power cut may empty any other
    /// ledger, which has no stop to lose.
    package var stopsAny: Bool { destinations.values.contains { $0.isPaused || $0.hold != nil } }

    package mutating func apply(
        _ event: DestinationEvent, to name: String, _ settings: DestinationSettings, at now: Timestamp
    ) {
        var state = self[name]
        state.apply(event, settings, at: now)
        destinations[name] = state.isBlank ? nil : state
    }

    /// Forgets destinations that no run has met for `longestMemory`, and beyond `mostRemembered` the destinations met
    /// longest ago: operations with their own urls may have any number of destinations. Destinations of which only a
    /// success is known go first, so that the memory of a failing destination does not depend on how many others
    /// succeed. Never forgets a hold or a pause.
    package mutating func forgetStale(at now: Timestamp) {
        let idle = destinations.filter { $0.value.hold == nil && !$0.value.isPaused }
        for (name, state) in idle where state.lastMet.map({ now - $0 > Self.longestMemory }) ?? false {
            destinations[name] = nil
        }
        let excess = destinations.count - Self.mostRemembered
        guard excess > 0 else { return }
        // Computes each key once, because sorting compares often.
        let left = idle.filter { destinations[$0.key] != nil }.map { name, state in
            (state.hasOnlySucceeded ? 0 : 1, state.lastMet?.microseconds ?? 0, name)
        }.sorted { $0 < $1 }
        for (_, _, name) in left.prefix(excess) { destinations[name] = nil }
    }

    static let longestMemory = Duration.seconds(30 * 86_400)
    static let mostRemembered = 10_000
}

extension DestinationState {
    /// Whether only a success is known.
    fileprivate var hasOnlySucceeded: Bool {
        self == DestinationState(released: released, lastSuccess: lastSuccess, upSince: upSince)
    }

    /// The latest time in the state.
    fileprivate var lastMet: Timestamp? {
        ([lastSuccess, released, lastFailureAt, notBefore, coolDownUntil, storm?.at, overload?.at, incident?.last]
            + parking.entries.map(\.asked)).compactMap(\.self).max()
    }
}

extension DestinationLedger: StoredObject {
    package static let blank = DestinationLedger()
    package static let fields: [StoredField<DestinationLedger>] = [
        .version(version),
        .init("offline", \.offline),
        .init("destinations", \.destinations, .always) { (read: [String: DestinationState]) in
            read.filter { !$0.value.isBlank }
        },
    ]
}

extension DestinationLedger.Offline: StoredObject {
    package static let blank = Self(since: Timestamp(microseconds: 0), error: .offline)
    package static let fields: [StoredField<Self>] = [
        .init("since", \.since, .required),
        .init("error", \.error, .always),
    ]
}
