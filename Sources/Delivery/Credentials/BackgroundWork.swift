import CSystem
import Synchronization

/// Work that waits for a program or an endpoint, each on a thread of its own beside the deliveries.
package final class BackgroundWork: Sendable {
    private struct State {
        var begun = 0
        var done: [Int] = []
    }

    private let state = Mutex(State())
    /// Gets a byte for each end of work. `nil` if no pipe can be made: then the caller's thread does all work.
    private let ends: Ends?

    private struct Ends: @unchecked Sendable {
        let pipe: BytePipe
    }

    package init() {
        // try?: see `ends`.
        ends = (try? BytePipe()).map { Ends(pipe: $0) }
        for end in ends.map({ [$0.pipe.reader, $0.pipe.writer] }) ?? [] {
            _ = fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK)
        }
    }

    /// A descriptor that is readable once work is done; -1 if there is none.
    package var wakeup: Int32 { ends?.pipe.reader ?? -1 }

    /// Begins work, whose end `takeDone` reports. If the system starts no more threads, does the work at once.
    package func begin(_ ticket: Int, _ work: @escaping () -> Void) {
        state.withLock { $0.begun += 1 }
        let whole = { [self] in
            work()
            end(ticket)
        }
        if ends == nil || !beginThread(whole) { whole() }
    }

    private func end(_ ticket: Int) {
        state.withLock { $0.done.append(ticket) }
        var byte: UInt8 = 1
        if let pipe = ends?.pipe { _ = write(pipe.writer, &byte, 1) }
    }

    /// Removes and returns the tickets of the work that has ended.
    package func takeDone() -> [Int] {
        if let pipe = ends?.pipe {
            withUnsafeTemporaryAllocation(byteCount: 256, alignment: 1) { space in
                while read(pipe.reader, space.baseAddress!, space.count) == space.count {}
            }
        }
        return state.withLock { state in
            defer { (state.begun, state.done) = (state.begun - state.done.count, []) }
            return state.done
        }
    }

    /// Waits until one of the descriptors is readable, or until the deadline.
    package static func wait(for descriptors: [Int32], until deadline: ContinuousClock.Instant) {
        var descriptors = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        _ = poll(&descriptors, nfds_t(descriptors.count), ContinuousClock.now.duration(to: deadline).pollMilliseconds)
    }

    /// Ends the programs of the work that goes on, for a run that ends.
    package func close() {
        if state.withLock({ $0.begun > $0.done.count }) { ExternalChild.endAll() }
    }
}
