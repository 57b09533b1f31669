import Drain
import Policy
import Spool

/// The reports of a run without a terminal, compared with those of earlier runs.
struct Alarms {
    private let spool: SpoolDirectory
    /// One moment decides for the whole run what is quiet.
    private let now: Timestamp
    /// As it was when the run first asked.
    private var ledger: AlarmLedger
    private var failed: [AlarmLedger.Cause: Int] = [:]
    private var held: Set<String> = []
    /// The causes that the storm guard held a destination for.
    private var storms: Set<AlarmLedger.Cause> = []
    private var released: Set<String> = []

    /// A ledger that cannot be read is an empty one: what it would keep quiet is told.
    init(of spool: SpoolDirectory, at now: Timestamp) {
        self.spool = spool
        self.now = now
        ledger = (try? StateFile.alarms.read(AlarmLedger.self, in: spool)) ?? AlarmLedger()
    }

    /// Whether a line is due for the operation, which has failed for good.
    mutating func tells(_ event: AttemptEvent) -> Bool {
        let cause = AlarmLedger.Cause(destination: event.destination, event.record)
        failed[cause, default: 0] += 1
        return !ledger.isQuiet(cause, at: now)
    }

    /// Whether a line is due for the hold of a destination.
    ///
    /// A hold by the storm guard has the same cause as the failures before it, and needs no other action.
    mutating func tells(holdOf destination: String, for record: AttemptRecord, byStormGuard: Bool) -> Bool {
        released.remove(destination)
        guard byStormGuard else {
            held.insert(destination)
            return true
        }
        let cause = AlarmLedger.Cause(destination: destination, record)
        storms.insert(cause)
        return !ledger.isQuiet(cause, at: now)
    }

    /// Whether somebody was told of the hold that has ended.
    mutating func release(_ destination: String) -> Bool {
        released.insert(destination)
        let begins = storms.filter { $0.destination == destination }
        storms.subtract(begins)
        return held.remove(destination) != nil || !begins.isEmpty || ledger.hasTold(holdOf: destination)
    }

    /// What earlier runs kept quiet about, and is told now: a sentence each.
    var owed: [String] {
        ledger.owed(at: now).map { owed in
            let place = "'\(owed.cause.destination)'"
            if owed.count == 0 { return "\(place) is held: \(owed.cause.cause)" }
            let time = InWords.rough(max(now - owed.since, .zero))
            return "\(owed.count) more failed at \(place) in the last \(time): \(owed.cause.cause)"
                + (owed.isHeld ? "; it is held" : "")
        }
    }

    /// Leaves for the next run what this one has said. A run that said nothing, and kept quiet about nothing, writes nothing.
    func leave() throws(SpoolError) {
        if failed.isEmpty, held.isEmpty, storms.isEmpty, released.isEmpty, ledger.owed(at: now).isEmpty { return }
        try StateFile.alarms.update(AlarmLedger(), in: spool) {
            $0.record(failed: failed, held: held, storms: storms, released: released, at: now)
        }
    }
}

extension AlarmLedger.Cause {
    fileprivate init(destination: String, _ record: AttemptRecord) {
        self.init(destination: destination, cause: record.status.map { "\($0)" } ?? record.error ?? record.rule)
    }
}
