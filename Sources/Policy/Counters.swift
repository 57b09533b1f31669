/// The counters of runs and `send`, in `ReportLedger`. They only grow.
package struct Counters: Hashable, Sendable {
    /// The events counted for each destination.
    package enum Count: String, CaseIterable, Sendable {
        case attempts
        case delivered
        case deferred
        case failed
        case expired
        case superseded
        case evicted

        /// The text of the metrics' `# HELP`.
        package var meaning: String {
            switch self {
            case .attempts: "Attempts of operations; in a batch each of its operations counts."
            case .delivered: "Operations that were delivered."
            case .deferred: "Deferrals of operations."
            case .failed: "Operations that failed for good, expired ones included."
            case .expired: "Operations that failed because they expired unsent."
            case .superseded: "Operations that were removed because a newer one of their key superseded them."
            case .evicted: "Operations that were removed to make room, by limits.whenFull."
            }
        }
    }

    /// The counts at a destination.
    package struct PerDestination: Hashable, Sendable {
        package var counts: [String: Int] = [:]
        /// The time of the last count.
        package var at: Timestamp

        package subscript(count: Count) -> Int { counts[count.rawValue] ?? 0 }

        mutating func add(_ count: Count, _ now: Timestamp) {
            counts[count.rawValue] = sum(counts[count.rawValue], 1)
            at = now
        }

        mutating func add(_ other: PerDestination) {
            for (name, number) in other.counts { counts[name] = sum(counts[name], number) }
            at = max(at, other.at)
        }
    }

    /// The most destinations kept: the last used, because operations with URLs of their own may name any number. A
    /// returning destination begins at 0 again, which Prometheus takes for a restart.
    package static let mostDestinations = 1000

    /// The number of runs by exit status, without runs that did nothing.
    package private(set) var runs: [String: Int] = [:]
    package private(set) var quarantined = 0
    package private(set) var destinations: [String: PerDestination] = [:]
    /// The number of delivered operations, including deliveries to destinations no longer kept.
    package private(set) var delivered = 0
    /// The time of the last delivery; `nil` before the first.
    package private(set) var lastDelivery: Timestamp?

    package init() {}

    /// Whether nothing has been counted.
    package var isEmpty: Bool { self == Counters() }

    /// Counts an event at a destination.
    package mutating func count(_ count: Count, at destination: String, _ now: Timestamp) {
        destinations[destination, default: PerDestination(at: now)].add(count, now)
        guard count == .delivered else { return }
        delivered = sum(delivered, 1)
        lastDelivery = now
    }

    /// The number of evicted operations, of the destinations that are kept.
    package var evicted: Int { destinations.values.reduce(0) { sum($0, $1[.evicted]) } }

    /// Counts a run by its exit status.
    package mutating func countRun(exitStatus: Int32) {
        runs["\(exitStatus)"] = sum(runs["\(exitStatus)"], 1)
    }

    package mutating func countQuarantined(_ number: Int) {
        quarantined = sum(quarantined, number)
    }

    /// Adds the counts of another run.
    mutating func add(_ other: Counters) {
        for (status, number) in other.runs { runs[status] = sum(runs[status], number) }
        quarantined = sum(quarantined, other.quarantined)
        delivered = sum(delivered, other.delivered)
        lastDelivery = [lastDelivery, other.lastDelivery].compactMap { $0 }.max()
        for (name, tally) in other.destinations {
            if destinations[name]?.add(tally) == nil { destinations[name] = tally }
        }
        let excess = destinations.count - Self.mostDestinations
        guard excess > 0 else { return }
        let oldest = destinations.sorted { ($0.value.at, $0.key) < ($1.value.at, $1.key) }
        for (name, _) in oldest.prefix(excess) { destinations[name] = nil }
    }
}

extension Counters: StoredObject {
    package static let blank = Counters()
    package static let fields: [StoredField<Counters>] = [
        .init("runs", \.runs),
        .init("quarantined", \.quarantined),
        .init("destinations", \.summedDestinations),
        .init("delivered", \.delivered),
        .init("lastDelivery", \.lastDelivery),
    ]

    /// The destinations. Setting them also sets `delivered`, which an older version did not write.
    private var summedDestinations: [String: PerDestination] {
        get { destinations }
        set {
            destinations = newValue
            delivered = newValue.values.reduce(0) { sum($0, $1[.delivered]) }
        }
    }
}

extension Counters.PerDestination: StoredObject {
    package static let blank = Self(at: Timestamp(microseconds: 0))
    package static let fields: [StoredField<Self>] = [
        .init("at", \.at, .always),
        .init("counts", \.counts, .required),
    ]
}

/// Adds two counts. Never overflows, and takes a negative count, from a damaged file, for 0.
private func sum(_ left: Int?, _ right: Int) -> Int {
    max(0, left ?? 0) +| max(0, right)
}
