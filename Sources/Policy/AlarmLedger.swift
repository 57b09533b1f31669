/// The reports of runs without a terminal, so that one cause is one mail: `state/alarms.json`.
///
/// ```
/// { "version": 1, "failures": [{ "destination": …, "cause": …, "told": time, "untold": 3, "held": true }],
///   "holds": [destination] }
/// ```
/// Losing the file costs a mail too many.
package struct AlarmLedger: Hashable, Sendable {
    package static let version = 1
    /// The same cause at the same destination is told again after this time at the earliest.
    package static let quietTime = Duration.seconds(3600)
    /// With operations that bring their own urls there may be any number of destinations.
    static let mostRemembered = 1000

    /// Why operations failed for good, and where.
    package struct Cause: Hashable, Codable, Sendable {
        package var destination: String
        /// The status, the error, or the rule where neither decided: never a text of the server's, which differs each time.
        package var cause: String

        package init(destination: String, cause: String) {
            self.destination = destination
            self.cause = cause
        }
    }

    /// The time of the last report, and the number of failures since then that were not reported.
    struct Failures: Hashable {
        var told: Timestamp
        var untold = 0
        /// Whether the storm guard holds the destination since then, which was not told.
        var isHeld = false

        var isOwed: Bool { untold > 0 || isHeld }
    }

    /// The failures and the hold of one cause that are told when its quiet time is over.
    package struct Owed: Hashable, Sendable {
        package var cause: Cause
        /// The failures that were not told.
        package var count: Int
        package var since: Timestamp
        /// Whether the destination is held for the cause, and nobody was told.
        package var isHeld: Bool

        package init(cause: Cause, count: Int, since: Timestamp, isHeld: Bool) {
            (self.cause, self.count, self.since, self.isHeld) = (cause, count, since, isHeld)
        }
    }

    private var failures: [Cause: Failures] = [:]
    /// The destinations whose holds were told, or the cause of them: the end is to be told as well.
    private var holds: Set<String> = []

    package init() {}

    /// Whether the cause was told within the quiet time. A moment in the future is one of a clock that was set back since.
    package func isQuiet(_ cause: Cause, at now: Timestamp) -> Bool {
        failures[cause].map { $0.told <= now && now - $0.told < Self.quietTime } ?? false
    }

    /// Whether the hold of the destination was told, and its end was not.
    package func hasTold(holdOf destination: String) -> Bool { holds.contains(destination) }

    /// The failures and holds that were not told and whose quiet time is over, by destination and cause.
    package func owed(at now: Timestamp) -> [Owed] {
        failures.filter { $0.value.isOwed && !isQuiet($0.key, at: now) }
            .map { Owed(cause: $0.key, count: $0.value.untold, since: $0.value.told, isHeld: $0.value.isHeld) }
            .sorted { ($0.cause.destination, $0.cause.cause) < ($1.cause.destination, $1.cause.cause) }
    }

    /// Takes in what a run has said and not said: all that was owed is told with it.
    ///
    /// - Parameters:
    ///   - failed: how many failed by each cause; those whose cause is quiet were not told.
    ///   - held: the destinations whose holds began.
    ///   - storms: the causes for which the storm guard began to hold a destination; where the cause is quiet, the hold
    ///     was not told.
    ///   - released: the destinations whose holds ended.
    package mutating func record(
        failed: [Cause: Int], held: Set<String>, storms: Set<Cause> = [], released: Set<String>, at now: Timestamp
    ) {
        for owed in owed(at: now) { failures[owed.cause] = Failures(told: now) }
        for (cause, count) in failed {
            if isQuiet(cause, at: now), let told = failures[cause], told.told < now {
                let (sum, overflows) = told.untold.addingReportingOverflow(count)
                failures[cause]!.untold = overflows ? .max : sum
            } else {
                failures[cause] = Failures(told: now)
            }
        }
        holds.formUnion(held)
        for cause in storms {
            holds.insert(cause.destination)
            if isQuiet(cause, at: now), failures[cause]!.told < now { failures[cause]!.isHeld = true }
        }
        holds.subtract(released)
        for cause in failures.keys where released.contains(cause.destination) { failures[cause]!.isHeld = false }
        forget(now)
    }

    private mutating func forget(_ now: Timestamp) {
        failures = failures.filter { $0.value.isOwed || isQuiet($0.key, at: now) }
        if failures.count > Self.mostRemembered {
            let oldest = failures.sorted { $0.value.told < $1.value.told }
            for (cause, _) in oldest.prefix(failures.count - Self.mostRemembered) { failures[cause] = nil }
        }
        while holds.count > Self.mostRemembered { holds.removeFirst() }
    }
}

extension AlarmLedger: Codable {
    private enum CodingKeys: String, CodingKey {
        case version, failures, holds
    }

    private struct Row: Codable {
        var destination: String
        var cause: String
        var told: String
        var untold: Int
        /// Absent is false.
        var held: Bool?
    }

    /// Throws where it is of another version, or damaged.
    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        guard try fields.decode(Int.self, forKey: .version) == Self.version else {
            throw DecodingError.dataCorruptedError(forKey: .version, in: fields, debugDescription: "another version")
        }
        for row in try fields.decode([Row].self, forKey: .failures) {
            guard let told = Timestamp(rfc3339: row.told) else { continue }
            failures[Cause(destination: row.destination, cause: row.cause)] =
                Failures(told: told, untold: max(0, row.untold), isHeld: row.held == true)
        }
        holds = Set(try fields.decode([String].self, forKey: .holds))
    }

    package func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: CodingKeys.self)
        try fields.encode(Self.version, forKey: .version)
        let rows = failures.map { cause, failures in
            Row(
                destination: cause.destination, cause: cause.cause, told: failures.told.rfc3339,
                untold: failures.untold, held: failures.isHeld ? true : nil)
        }
        try fields.encode(rows.sorted { ($0.destination, $0.cause) < ($1.destination, $1.cause) }, forKey: .failures)
        try fields.encode(holds.sorted(), forKey: .holds)
    }
}
