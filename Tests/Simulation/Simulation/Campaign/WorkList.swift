internal import Foundation

/// The work that is left, for several threads.
final class WorkList<Item: Sendable>: @unchecked Sendable {
    private var work: ArraySlice<Item>
    private let condition = NSCondition()
    private var left = 0
    private var failure: (any Error)?

    init(_ work: [Item]) { self.work = work[...] }

    /// Returns the next item; `nil` if none is left, or after a failure.
    func take() -> Item? {
        condition.withLock { failure == nil ? work.popFirst() : nil }
    }

    func fail(_ error: any Error) {
        condition.withLock { failure = error }
    }

    /// Called by each thread at its end.
    func leave() {
        condition.withLock {
            left += 1
            condition.signal()
        }
    }

    /// Waits until so many threads have left.
    func wait(for count: Int) {
        condition.withLock { while left < count { condition.wait() } }
    }

    var error: (any Error)? { condition.withLock { failure } }
}
