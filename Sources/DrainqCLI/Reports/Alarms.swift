import Drain
import Policy
import Spool

/// The reports of a run without a terminal. Leaves out those that an earlier run has made within the hour.
struct Alarms {
    private let spool: SpoolDirectory
    /// The time by which the run decides which causes are quiet.
    private let now: Timestamp
    /// The ledger as it was at the start of the run.
    private var ledger: AlarmLedger
    private var failed: [AlarmLedger.Cause: Int] = [:]
    private var held: Set<String> = []
    /// The causes for which the storm guard held a destination.
    private var storms: Set<AlarmLedger.Cause> = []
    private var released: Set<String> = []

    /// Reads the ledger. One that cannot be read counts as empty: the run then reports everything.
    init(of spool: SpoolDirectory, at now: Timestamp) {
        self.spool = spool
        self.now = now
        ledger = (try? StateFile.alarms.read(AlarmLedger.self, in: spool)) ?? AlarmLedger()
    }

    /// Begins anew for the next pass of a run that stays, after `save`.
    mutating func begin(at now: Timestamp) { self = Alarms(of: spool, at: now) }

    /// Counts an operation that has failed for good. Returns whether to report it.
    mutating func shouldReport(_ event: AttemptEvent) -> Bool {
        let cause = cause(of: event.record, at: event.destination)
        failed[cause, default: 0] += 1
        return !ledger.isQuiet(cause, at: now)
    }

    /// Records the hold of a destination. Returns whether to report it.
    ///
    /// A hold by the storm guard has the same cause as the failures before it, and needs no other action.
    mutating func shouldReport(holdOf destination: String, for record: AttemptRecord, byStormGuard: Bool) -> Bool {
        released.remove(destination)
        guard byStormGuard else {
            held.insert(destination)
            return true
        }
        let cause = cause(of: record, at: destination)
        storms.insert(cause)
        return !ledger.isQuiet(cause, at: now)
    }

    /// Records the end of a hold. Returns whether this run or an earlier one has reported the hold.
    mutating func release(_ destination: String) -> Bool {
        released.insert(destination)
        let begins = storms.filter { $0.destination == destination }
        storms.subtract(begins)
        return held.remove(destination) != nil || !begins.isEmpty || ledger.hasTold(holdOf: destination)
    }

    /// A sentence for each cause whose reports earlier runs left out, and that is due for a report.
    var dueReports: [String] {
        ledger.owed(at: now).map { owed in
            let place = "'\(owed.cause.destination)'"
            if owed.count == 0 { return "\(place) is held: \(owed.cause)" }
            let time = InWords.rough(max(now - owed.since, .zero))
            return
                "\(InWords.count(owed.count, "more operation")) failed at \(place) in the last \(time): \(owed.cause)"
                + (owed.isHeld ? "; the destination is held" : "")
        }
    }

    /// Records the reports of this run for later ones. Writes nothing if there was nothing to report or keep quiet.
    func save() throws(SpoolError) {
        if failed.isEmpty, held.isEmpty, storms.isEmpty, released.isEmpty, ledger.owed(at: now).isEmpty { return }
        try StateFile.alarms.update(AlarmLedger(), in: spool) {
            $0.record(failed: failed, held: held, storms: storms, released: released, at: now)
        }
    }
}

extension Alarms {
    private func cause(of record: AttemptRecord, at destination: String) -> AlarmLedger.Cause {
        let cause = AlarmLedger.Cause(
            destination: destination, cause: record.status.map { "\($0)" } ?? record.error ?? record.rule,
            excerpt: record.status == nil ? nil : record.excerpt)
        return ledger.counted(cause, besides: Array(failed.keys) + storms)
    }
}
