import CSystem

/// A wait for a lock, in growing steps, until a patience is at its end.
struct LockWait {
    private let patience: Duration
    private var step: Duration = .milliseconds(1)
    private var waited: Duration = .zero

    init(_ patience: Duration) {
        self.patience = patience
    }

    /// Sleeps for the next step. Throws EWOULDBLOCK when the patience is at its end.
    mutating func sleep(_ system: SystemCalls) throws(Errno) {
        if waited >= patience { throw .wouldBlock }
        system.sleep(step)
        waited += step
        step = min(step * 2, .milliseconds(20))
    }
}
