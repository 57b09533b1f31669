import Dispatch
import Synchronization

/// The receiver's record. The receiver's thread writes it; other threads read it and wait for changes.
final class Ledger: Sendable {
    struct Entries {
        var requests: [ReceivedRequest] = []
        var received = 0
        var answered = 0
        var refused = 0
        var connections = 0
        var stopped = false
        var waiters: [(isOver: @Sendable (borrowing Entries) -> Bool, signal: DispatchSemaphore)] = []
    }

    private let entries = Mutex(Entries())

    func read<Value: Sendable>(_ look: (borrowing Entries) -> Value) -> Value {
        entries.withLock { look($0) }
    }

    func note(_ change: (inout Entries) -> Void) {
        entries.withLock { entries in
            change(&entries)
            guard !entries.waiters.isEmpty else { return }
            let waiters = entries.waiters
            entries.waiters = []
            for waiter in waiters {
                if entries.stopped || waiter.isOver(entries) {
                    waiter.signal.signal()
                } else {
                    entries.waiters.append(waiter)
                }
            }
        }
    }

    /// Waits until `condition` holds. Returns false if the time is up or the receiver has stopped before.
    func wait(within limit: Duration, until condition: @escaping @Sendable (borrowing Entries) -> Bool) -> Bool {
        let signal = DispatchSemaphore(value: 0)
        let answer: Bool? = entries.withLock { entries in
            if condition(entries) { return true }
            if entries.stopped { return false }
            entries.waiters.append((condition, signal))
            return nil
        }
        if let answer { return answer }
        let (seconds, attoseconds) = limit.components
        let deadline: DispatchTime =
            seconds > 1_000_000_000
            ? .distantFuture : .now() + .nanoseconds(Int(max(0, seconds) * 1_000_000_000 + attoseconds / 1_000_000_000))
        _ = signal.wait(timeout: deadline)
        return entries.withLock { entries in
            entries.waiters.removeAll { $0.signal === signal }
            return condition(entries)
        }
    }
}
