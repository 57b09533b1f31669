internal import Foundation
package import Policy
internal import Spool

/// A process of a history: a thread of its own that goes on only while it has the baton.
///
/// After its death the thread never goes on: no `defer` and no `deinit` speaks for it. It stays parked until the whole
/// program ends, so a program that plays many histories is started anew now and then (`simulate`).
package final class SimulatedProcess: @unchecked Sendable {
    enum State: Equatable {
        /// Goes on when it is chosen, from this time on.
        case waiting(until: Duration)
        case done
        case dead
    }

    package let id: ProcessID
    /// What it is, as a person would write its command.
    package let name: String
    package let host: Int
    /// The user that it acts as; 0 is root.
    package let user: UInt32
    /// Its own chance: what another process draws changes nothing here.
    package var chance: Chance
    var state: State
    /// Whether its thread has started.
    private(set) var hasBegun = false
    /// The time until which it is stopped (SIGSTOP), whatever it waits for.
    var stoppedUntil: Duration?
    /// The number of its system calls so far.
    var calls = 0
    /// The signals that it has received.
    package var signals: [Int32] = []
    /// The times of the operations that it hands in, and the last of them.
    var times = SubmissionClock()
    package var lastOffer = Timestamp(microseconds: 0)
    /// The greater one goes first.
    var priority = 0
    /// Whether anything that arrives (an answer, a signal) ends its present wait.
    var isWakeable = false
    private let baton = Baton()
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

    /// The time at which it can go on; `nil` if it never does.
    var ready: Duration? {
        guard case .waiting(let until) = state else { return nil }
        return max(until, stoppedUntil ?? .zero)
    }

    var isAlive: Bool {
        switch state {
        case .waiting: hasBegun
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
        if hasBegun { return baton.hand() }
        hasBegun = true
        let thread = Thread {
            self.body(self)
            self.scheduler.end(self)
        }
        thread.stackSize = 1 << 20
        thread.start()
    }

    /// Waits until this process has the baton again; for ever if it is dead.
    func await() {
        repeat { baton.await() } while state == .dead
    }
}
