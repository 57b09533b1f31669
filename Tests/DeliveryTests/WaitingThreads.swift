import CSystem
import Foundation

/// Threads for tests that wait for servers and processes.
///
/// Swift runs all tests on as many threads as there are processors, and a test that waits takes one of them from the tests
/// that compute.
final class WaitingThreads: TaskExecutor, @unchecked Sendable {
    static let shared = WaitingThreads(count: 4)

    /// The jobs that no thread has taken, oldest first. `condition` guards them.
    private var jobs: [UnownedJob] = []
    private let condition = NSCondition()

    private init(count: Int) {
        for _ in 0..<count { Thread.detachNewThread { [self] in work() } }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        condition.withLock { jobs.append(job) }
        condition.signal()
    }

    private func work() -> Never {
        // As on the threads of Dispatch: a write to a peer that has gone is an error, not the end of the process.
        var broken = sigset_t()
        sigemptyset(&broken)
        sigaddset(&broken, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &broken, nil)
        while true {
            let job = condition.withLock {
                while jobs.isEmpty { condition.wait() }
                return jobs.removeFirst()
            }
            job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }
}
