import CSystem
import Synchronization

/// An HTTP/1.1 server on this machine that plays a script, hostile where it says so, and records what it got.
///
/// One thread serves all connections; a request is recorded when it has arrived whole, and pipelined requests are
/// answered one after the other. It stops when it is told to, and when nobody holds it any more.
package final class LoopbackReceiver: Sendable {
    /// Where it listens, with the port that it was given.
    package let address: ListenAddress
    /// 0 for a unix socket.
    package let port: UInt16
    private let ledger = Ledger()
    private let running: Mutex<Running?>

    private struct Running: @unchecked Sendable {
        var thread: pthread_t
        /// Closing it ends the loop.
        var lifeline: Int32
    }

    /// - Parameter bodyLimit: a request with a larger body is answered 413 and not recorded.
    package init(
        at address: ListenAddress, script: Script = .always(.status(204)), recording: Recording = .everything,
        bodyLimit: Int = 256 << 20
    ) throws(ReceiverError) {
        let listener = try Socket.listen(at: address)
        port = Socket.port(of: listener)
        self.address = address.with(port: port)
        let lifeline: (reading: Int32, writing: Int32)
        do throws(ReceiverError) {
            lifeline = try Socket.pair()
        } catch {
            _ = Socket.close(listener)
            throw error
        }
        let responder = Responder(ledger: ledger, recording: recording, script: script, bodyLimit: bodyLimit)
        let loop = EventLoop(listener: listener, stopping: lifeline.reading, responder: responder)
        guard let thread = startThread(loop) else {
            _ = Socket.close(listener)
            _ = Socket.close(lifeline.writing)
            throw ReceiverError(action: "start a thread for", address: self.address.description, code: EAGAIN)
        }
        running = Mutex(Running(thread: thread, lifeline: lifeline.writing))
    }

    /// On 127.0.0.1; port 0 takes a free one.
    package convenience init(
        port: UInt16 = 0, script: Script = .always(.status(204)), recordsBodies: Bool = true
    ) throws(ReceiverError) {
        try self.init(
            at: .loopback(port: port), script: script, recording: recordsBodies ? .everything : .heads)
    }

    deinit {
        stop()
    }

    /// `http://127.0.0.1:PORT`, without a slash at the end; the path of a unix socket.
    package var url: String { address.description }

    /// What was received, in order of arrival; without what was taken.
    package func requests() -> [ReceivedRequest] { ledger.read { $0.requests } }

    /// As `requests`, and forgets them.
    package func takeRequests() -> [ReceivedRequest] {
        var taken: [ReceivedRequest] = []
        ledger.note { swap(&taken, &$0.requests) }
        return taken
    }

    /// How many requests have arrived, recorded or not.
    package var receivedCount: Int { ledger.read { $0.received } }

    /// How many answers have been played to their ending, or as far as the client stayed; a stall counts where it begins.
    package var answeredCount: Int { ledger.read { $0.answered } }

    /// How many requests were malformed or too large, answered with a 4xx or 5xx of the receiver's own.
    package var refusedCount: Int { ledger.read { $0.refused } }

    package var connectionCount: Int { ledger.read { $0.connections } }

    /// Waits until `count` requests have arrived since the beginning: true, or false when it took too long or the
    /// receiver was stopped. Blocks its thread.
    package func wait(forRequests count: Int, within limit: Duration) -> Bool {
        ledger.wait(within: limit) { $0.received >= count }
    }

    /// As `wait(forRequests:within:)`, for answers that have been played.
    package func wait(forAnswers count: Int, within limit: Duration) -> Bool {
        ledger.wait(within: limit) { $0.answered >= count }
    }

    /// Closes all connections and the port, and waits until that is done. Idempotent; ends all waiting.
    package func stop() {
        let running = running.withLock { running in
            defer { running = nil }
            return running
        }
        guard let running else { return }
        _ = Socket.close(running.lifeline)
        if pthread_equal(running.thread, pthread_self()) != 0 {
            // The last reference was dropped by the script, on the receiver's own thread.
            pthread_detach(running.thread)
        } else {
            pthread_join(running.thread, nil)
        }
    }
}

/// Runs the loop on a thread of its own, which takes no signals: they are for the program's other threads.
private func startThread(_ loop: EventLoop) -> pthread_t? {
    var all = sigset_t()
    var before = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_SETMASK, &all, &before)
    defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
    return CSystem.startThread { loop.run() }
}
