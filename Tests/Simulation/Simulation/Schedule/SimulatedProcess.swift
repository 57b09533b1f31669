package import Policy
internal import Spool

/// A process of a history, on a thread that runs only while it has the baton.
///
/// After the death of the process the thread never continues: no `defer` and no `deinit` speaks for the process. The
/// thread stays parked until the whole program ends, so a program that plays many histories is started anew now and
/// then (`simulate`).
package final class SimulatedProcess: @unchecked Sendable {
    /// What the plan lets go wrong at the calls of an actor.
    struct Faults {
        /// The faults at a call, by its number.
        var byCall: [Int: Plan.Fault] = [:]
        /// The faults at calls of a kind.
        var ofKinds: [Plan.Fault] = []
    }

    enum State: Equatable {
        /// Continues when chosen, from this time on.
        case waiting(until: Duration)
        case done
        case dead
    }

    package let id: ProcessID
    /// The command as an operator would write it.
    package let name: String
    package let host: Int
    /// The user of the process; 0 is root.
    package let user: UInt32
    /// The process's own chance: draws of other processes do not change its numbers.
    package var chance: Chance
    var state: State
    /// The thread; `nil` before the process begins.
    private(set) var strand: Strand?
    /// The time until which the process is stopped (SIGSTOP), whatever the process waits for.
    var stoppedUntil: Duration?
    /// The faults of the process's actor; `nil` for a process of the calm end, which no fault meets.
    var faults: Faults?
    /// The number of system calls so far.
    var calls = 0
    /// The number of calls by kind, if the process has a fault at calls of a kind.
    var callsOfKinds: [Call.Name: Int] = [:]
    /// The signals received.
    package var signals: [Int32] = []
    /// The times of the operations that the process hands in, and the last of these times.
    var times = SubmissionClock()
    package var lastOffer = Timestamp(microseconds: 0)
    /// The priority. The process with the greatest number goes first.
    var priority = 0
    /// Whether an answer or a signal ends the present wait.
    var isWakeable = false
    /// Whether an operator looks at the queue when the process has ended.
    var isWatched = true
    private let body: (SimulatedProcess) -> Void
    private unowned let scheduler: Scheduler

    init(
        _ id: ProcessID, _ name: String, host: Int, user: UInt32, chance: Chance, start: Duration,
        in scheduler: Scheduler, body: @escaping (SimulatedProcess) -> Void
    ) {
        self.id = id
        self.name = name
        self.host = host
        self.user = user
        self.chance = chance
        self.scheduler = scheduler
        self.body = body
        state = .waiting(until: start)
    }

    /// Whether the process can continue now.
    func isReady(at time: Duration) -> Bool {
        guard case .waiting(let until) = state, until <= time else { return false }
        return stoppedUntil.map { $0 <= time } ?? true
    }

    /// The time at which the process can continue; `nil` if the process never can.
    var ready: Duration? {
        guard case .waiting(let until) = state else { return nil }
        return max(until, stoppedUntil ?? .zero)
    }

    var isAlive: Bool {
        switch state {
        case .waiting: strand != nil
        case .done, .dead: false
        }
    }

    /// Waits until a time, or earlier, if `isWakeable`, until something arrives.
    package func sleep(until time: Duration, isWakeable: Bool = false) {
        scheduler.sleep(self, until: time, isWakeable)
    }

    // MARK: - The thread

    /// Lets the thread go on. The caller waits, or ends, at once.
    func take() {
        if let strand { return strand.baton.hand() }
        let strand = scheduler.idleStrand()
        self.strand = strand
        strand.begin { [self] in
            body(self)
            scheduler.end(self)
        }
    }

    /// Waits until the process has the baton again; for ever if the process is dead.
    func await() {
        repeat { strand?.baton.await() } while state == .dead
    }
}
