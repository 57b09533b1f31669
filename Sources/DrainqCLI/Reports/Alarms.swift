import Drain
import Policy
import Spool

/// What a run says where nobody watches, held against what earlier runs have said.
struct Alarms {
    private let spool: SpoolDirectory
    /// One moment decides for the whole run what is quiet.
    private let now: Timestamp
    /// As it was when the run first asked.
    private var ledger: AlarmLedger
    private var failed: [AlarmLedger.Cause: Int] = [:]
    private var held: Set<String> = []
    private var released: Set<String> = []

    /// A ledger that cannot be read is an empty one: what it would keep quiet is told.
    init(of spool: SpoolDirectory, at now: Timestamp) {
        self.spool = spool
        self.now = now
        ledger = (try? StateFile.alarms.read(AlarmLedger.self, in: spool)) ?? AlarmLedger()
    }

    /// Whether a line is due for the operation, which has failed for good.
    mutating func tells(_ event: AttemptEvent) -> Bool {
        let cause = AlarmLedger.Cause(
            destination: event.destination,
            cause: event.record.status.map { "\($0)" } ?? event.record.error ?? event.record.rule)
        failed[cause, default: 0] += 1
        return !ledger.isQuiet(cause, at: now)
    }

    mutating func hold(_ destination: String) {
        held.insert(destination)
        released.remove(destination)
    }

    /// Whether somebody was told of the hold that has ended.
    mutating func release(_ destination: String) -> Bool {
        released.insert(destination)
        return held.remove(destination) != nil || ledger.hasTold(holdOf: destination)
    }

    /// What earlier runs kept quiet about, and is told now: a sentence each.
    var owed: [String] {
        ledger.owed(at: now).map { cause, count, since in
            "\(count) more failed at '\(cause.destination)' in the last \(InWords.rough(max(now - since, .zero))): \(cause.cause)"
        }
    }

    /// Leaves for the next run what this one has said. A run that said nothing, and kept quiet about nothing, writes nothing.
    func leave() throws(SpoolError) {
        if failed.isEmpty, held.isEmpty, released.isEmpty, ledger.owed(at: now).isEmpty { return }
        try StateFile.alarms.update(AlarmLedger(), in: spool) {
            $0.record(failed: failed, held: held, released: released, at: now)
        }
    }
}
