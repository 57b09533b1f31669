/// The failures and holds that runs without a terminal have reported: `state/alarms.json`.
///
/// ```
/// { "version": 1, "failures": [{ "destination": …, "cause": …, "words": …, "told": time, "untold": 3, "held": true }],
///   "holds": [destination] }
/// ```
/// The holds are in the order of their reports.
///
/// Keeps later runs from reporting the same cause again within `quietTime`, so that one cause is one mail. Losing the
/// file costs one report, and so one mail, too many.
package struct AlarmLedger: Hashable, Sendable {
    package static let version = 1
    /// The minimum time between two reports of the same cause at the same destination.
    package static let quietTime = Duration.seconds(3600)
    /// The upper bound of causes and of holds. Operations with their own urls may have any number of destinations.
    static let mostRemembered = 1000
    /// The most causes of one status at one destination that are told apart by their words: a server may write the name
    /// of each operation.
    static let mostWords = 3

    /// The destination of operations that failed for good, and the reason.
    package struct Cause: Hashable, Sendable, CustomStringConvertible {
        package var destination: String
        /// The status, the error, or, if neither decided, the rule.
        package var cause: String
        /// The first words of the answer, without the parts that differ between operations; empty without any.
        package var words: String

        /// - Parameter excerpt: the beginning of the answer.
        package init(destination: String, cause: String, excerpt: String? = nil) {
            self.destination = destination
            self.cause = cause
            words = Self.words(of: excerpt ?? "")
        }

        /// Returns the first words that have only letters: ids, numbers and times are left out.
        private static func words(of text: String) -> String {
            let parts = text.unicodeScalars.split { scalar in
                !(scalar.properties.isAlphabetic || scalar.properties.numericType != nil || scalar == "_"
                    || scalar == "-")
            }
            let words = parts.filter { $0.allSatisfy { $0.properties.isAlphabetic || $0 == "_" } }
            return words.prefix(6).map { String($0) }.joined(separator: " ")
        }

        package var description: String { words.isEmpty ? cause : "\(cause) (\(words))" }
    }

    /// The time of the last report, and the number of unreported failures since then.
    struct Failures: Hashable {
        var told: Timestamp
        var untold = 0
        /// Whether the storm guard has held the destination since then. No run has reported the hold.
        var isHeld = false

        var isOwed: Bool { untold > 0 || isHeld }
    }

    /// The unreported failures and hold of one cause, to be reported once its quiet time is over.
    package struct Owed: Hashable, Sendable {
        package var cause: Cause
        /// The number of unreported failures.
        package var count: Int
        package var since: Timestamp
        /// Whether the storm guard holds the destination for this cause and no run has reported the hold.
        package var isHeld: Bool
    }

    private var failures: [Cause: Failures] = [:]
    /// The destinations of which a run has reported the hold or its cause, the last report last. The end of such a hold
    /// is reported as well.
    private var holds: [String] = []

    package init() {}

    /// Returns whether the cause was reported within the quiet time. A report in the future is by a clock set back
    /// since.
    package func isQuiet(_ cause: Cause, at now: Timestamp) -> Bool {
        failures[cause].map { $0.told <= now && now - $0.told < Self.quietTime } ?? false
    }

    /// Returns the cause under which a failure counts: itself, or a cause with the same status at the destination if
    /// there are too many of these. `present` are the causes of this run.
    package func counted(_ cause: Cause, besides present: some Sequence<Cause>) -> Cause {
        let alike = Set(failures.keys).union(present).filter {
            $0.destination == cause.destination && $0.cause == cause.cause
        }
        if alike.contains(cause) || alike.count < Self.mostWords { return cause }
        return alike.min { $0.words < $1.words } ?? cause
    }

    /// Returns whether the hold of the destination was reported and its end was not.
    package func hasTold(holdOf destination: String) -> Bool { holds.contains(destination) }

    /// Returns the unreported failures and holds whose quiet time is over, sorted by destination and cause.
    package func owed(at now: Timestamp) -> [Owed] {
        failures.filter { $0.value.isOwed && !isQuiet($0.key, at: now) }
            .map { Owed(cause: $0.key, count: $0.value.untold, since: $0.value.told, isHeld: $0.value.isHeld) }
            .sorted { $0.cause.order < $1.cause.order }
    }

    /// Records the reports of a run. The run has reported everything that `owed(at:)` returns.
    ///
    /// - Parameters:
    ///   - failed: the number of failures by cause; failures of a quiet cause were not reported.
    ///   - held: the destinations whose holds began.
    ///   - storms: the causes for which the storm guard began to hold a destination; the hold was not reported if the
    ///     cause is quiet.
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
        let told = held.union(storms.map(\.destination)).subtracting(released)
        holds.removeAll { told.contains($0) || released.contains($0) }
        holds += told.sorted()
        for cause in storms {
            if isQuiet(cause, at: now), failures[cause]!.told < now { failures[cause]!.isHeld = true }
        }
        for cause in failures.keys where released.contains(cause.destination) { failures[cause]!.isHeld = false }
        forget(now)
    }

    /// Forgets causes that no run has to know any more. Beyond `mostRemembered` forgets the causes and the holds whose
    /// reports are oldest.
    private mutating func forget(_ now: Timestamp) {
        failures = failures.filter { $0.value.isOwed || isQuiet($0.key, at: now) }
        if failures.count > Self.mostRemembered {
            let oldest = failures.sorted { left, right in
                left.value.told == right.value.told
                    ? left.key.order < right.key.order : left.value.told < right.value.told
            }
            for (cause, _) in oldest.prefix(failures.count - Self.mostRemembered) { failures[cause] = nil }
        }
        holds.removeFirst(max(0, holds.count - Self.mostRemembered))
    }
}

extension AlarmLedger: StoredObject {
    package static let blank = AlarmLedger()
    package static let fields: [StoredField<AlarmLedger>] = [
        .version(version),
        .init("failures", \.rows, .required),
        .init("holds", \.holds, .required) { (read: [String]) in
            var seen: Set<String> = []
            return read.filter { seen.insert($0).inserted }
        },
    ]

    /// The failures as the file has them, sorted by cause.
    private var rows: [Row] {
        get { failures.sorted { $0.key.order < $1.key.order }.map { Row(cause: $0.key, failures: $0.value) } }
        set { failures = Dictionary(newValue.map { ($0.cause, $0.failures) }) { $1 } }
    }

    private struct Row: StoredObject {
        var cause: Cause
        var failures: Failures

        static let blank = Row(
            cause: Cause(destination: "", cause: ""), failures: Failures(told: Timestamp(microseconds: 0)))
        static let fields: [StoredField<Row>] = [
            .init("destination", \.cause.destination, .required),
            .init("cause", \.cause.cause, .required),
            .init("words", \.cause.words),
            .init("told", \.failures.told, .required),
            .init("untold", \.failures.untold, .required) { max(0, $0) },
            .init("held", \.failures.isHeld),
        ]
    }
}

extension AlarmLedger.Cause {
    fileprivate var order: (String, String, String) { (destination, cause, words) }
}
