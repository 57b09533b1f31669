internal import Dispatch

/// The right to go on, handed from one thread to another.
final class Baton: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    func hand() { semaphore.signal() }

    func await() { semaphore.wait() }
}
