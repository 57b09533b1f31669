import Dispatch
import Synchronization

/// The receiver's record. The threads of its connections write it; other threads read it and wait for changes.
final class Ledger: Sendable {
    struct Entries {
        var requests: [ReceivedRequest] = []
        var received = 0
        var answered = 0
        var connections = 0
        /// The descriptors of the connections that are served.
        var served: Set<Int32> = []
        var isStopping = false
        /// The listening socket, until it is closed.
        var listener: Int32?
        var waiters: [(isOver: @Sendable (borrowing Entries) -> Bool, signal: DispatchSemaphore)] = []

        /// Whether the port and all connections are closed.
        var stopped: Bool { listener == nil && served.isEmpty }

        /// Counts an answer. What stopping cuts off is none.
        mutating func countAnswer() {
            if !isStopping { answered += 1 }
        }
    }

    private let entries = Mutex(Entries())

    func read<Value: Sendable>(_ look: (borrowing Entries) -> Value) -> Value { entries.withLock { look($0) } }

    func note<Value: Sendable>(_ change: (inout Entries) -> Value) -> Value {
        entries.withLock { entries in
            let value = change(&entries)
            let waiters = entries.waiters
            entries.waiters = []
            for waiter in waiters {
                if entries.stopped || waiter.isOver(entries) {
                    waiter.signal.signal()
                } else {
                    entries.waiters.append(waiter)
                }
            }
            return value
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
