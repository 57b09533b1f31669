import CSystem
import Synchronization
import Testing

@testable import Spool

/// Calls for several files at once.
struct FileWorkersTests {
    @Test func `results have the order of the inputs`() {
        let workers = FileWorkers(.real)
        #expect(workers.map([Int]()) { $0 } == [])
        for _ in 0..<20 {
            let results = workers.map(Array(0..<200)) { number in
                usleep(number % 3 == 0 ? 900 : 600)
                return number * 2
            }
            #expect(results == (0..<200).map { $0 * 2 })
        }
        #expect(workers.isWorthwhile)
    }

    @Test func `a fast directory is used from a single thread`() {
        let workers = FileWorkers(.real)
        let thread = pthread_self()
        #expect(workers.map(Array(0..<1000)) { _ in pthread_self() == thread }.allSatisfy { $0 })
        #expect(!workers.isWorthwhile)
    }

    @Test func `a slow directory gets at most 32 calls at once, and fast calls end the overlap`() {
        let workers = FileWorkers(.real)
        let state = Mutex((now: 0, most: 0))
        _ = workers.map(Array(0..<300)) { _ in
            state.withLock {
                $0.now += 1
                $0.most = max($0.most, $0.now)
            }
            usleep(3000)
            state.withLock { $0.now -= 1 }
        }
        #expect((2...32).contains(state.withLock(\.most)))
        for _ in 0..<30 { _ = workers.map(Array(0..<10)) { $0 } }
        #expect(!workers.isWorthwhile)
    }
}
