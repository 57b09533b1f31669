import Policy
import Spool

/// Values of an input that are no operations: first they go to quarantine, so that no input is lost, then to a report.
struct RefusedValues {
    private let spool: SpoolDirectory
    private let options: Adder.Options
    /// The rule that names the values in quarantine.
    var rule: AdmissionRule
    private let clock: RunClock
    private var values: [(value: GivenValue, reason: String, reading: Reading)] = []
    private(set) var bytes = 0
    /// The paths in quarantine, by number; `nil` before `keep`.
    private var paths: [Int: String]?
    private var failure: SpoolError?

    init(_ spool: SpoolDirectory, _ options: Adder.Options, _ rule: AdmissionRule, _ clock: RunClock) {
        (self.spool, self.options, self.rule, self.clock) = (spool, options, rule, clock)
    }

    var count: Int { values.count }

    /// `time` and `id` are those of the operation that was made of the value; without an operation `id` is `nil`.
    mutating func append(_ given: GivenValue, _ reason: String, id: OperationID? = nil, at time: Timestamp) {
        var reading = options.reading
        (reading.id, reading.createdAt) = (id, time)
        values.append((given, reason, reading))
        bytes += given.text.count
    }

    /// Appends the values that can never be operations, as the queue has answered.
    mutating func append(_ results: [Acceptance], of batch: some Sequence<(Submission, GivenValue)>) {
        for ((submission, given), result) in zip(batch, results) {
            guard let reason = result.refusal else { continue }
            append(given, reason, id: submission.header.id, at: submission.header.createdAt)
        }
    }

    /// Quarantines the values that the caller does not have in a file.
    mutating func keep() {
        let kept = values.indices.filter { !values[$0].value.text.isEmpty }
        paths = [:]
        if kept.isEmpty || options.isAtomic { return }
        let inputs = kept.map { index in
            let (value, reason, reading) = values[index]
            return SpoolDirectory.BadInput(
                value.text, reason: reason, source: "\(value.place.source) line \(value.place.line)", reading: reading)
        }
        do throws(SpoolError) {
            let items = try spool.keepBadInput(inputs, by: rule, durable: options.isDurable, now: clock.now())
            paths = Dictionary(uniqueKeysWithValues: zip(kept, items.map { "quarantine/\($0.fileName)" }))
        } catch {
            failure = error
        }
    }

    /// Quarantines the values that are not there yet, reports each, and forgets them.
    mutating func tell(_ report: (AdderEvent) -> Void) {
        if paths == nil { keep() }
        for (index, (value, reason, _)) in values.enumerated() {
            report(
                .refused(
                    value.place, reason: reason, keptAs: paths?[index], lostBy: value.text.isEmpty ? nil : failure))
        }
        self = RefusedValues(spool, options, rule, clock)
    }
}

extension Acceptance {
    /// The reason why the value can never be an operation; `nil` if it is one.
    var refusal: String? {
        switch self {
        case .rejected(let limit) where !limit.isOfQueue: "\(limit)"
        case .refused(let reason): reason
        case .accepted, .duplicate, .inFlight, .isBeingSent, .isGone, .rejected, .notAttempted: nil
        }
    }
}
