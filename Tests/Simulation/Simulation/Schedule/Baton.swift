internal import Dispatch

/// The right to continue, handed from thread to thread.
final class Baton: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    func hand() { semaphore.signal() }

    func await() { semaphore.wait() }
}
