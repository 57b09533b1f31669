import CSystem
import Synchronization

/// An HTTP/1.1 server on this machine that answers by a script, which may be hostile, and records its requests.
///
/// One thread serves all connections. A request is recorded once it has arrived completely; pipelined requests are
/// answered one after the other. The server stops on `stop()`, and when its last reference goes.
package final class LoopbackReceiver: Sendable {
    /// The address, with the port that the system gave.
    package let address: ListenAddress
    /// The port; 0 for a unix socket.
    package let port: UInt16
    private let ledger = Ledger()
    private let running: Mutex<Running?>

    private struct Running: @unchecked Sendable {
        var thread: pthread_t
        /// The connection of the thread to `stop()`: closing it ends the loop.
        var lifeline: Int32
    }

    /// - Parameters:
    ///   - bodyLimit: the longest body in bytes. A request with a longer one is answered 413 and not recorded.
    ///   - isMute: whether the server ends its side of each connection at once, and reads without an answer.
    package init(
        at address: ListenAddress, script: Script = .always(.status(204)), recording: Recording = .everything,
        bodyLimit: Int = 256 << 20, isMute: Bool = false
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
        let loop = EventLoop(listener: listener, stopping: lifeline.reading, responder: responder, isMute: isMute)
        guard let thread = startThread(loop) else {
            _ = Socket.close(listener)
            _ = Socket.close(lifeline.writing)
            throw ReceiverError(action: "start a thread for", address: self.address.description, code: EAGAIN)
        }
        running = Mutex(Running(thread: thread, lifeline: lifeline.writing))
    }

    /// Listens on 127.0.0.1. Port 0 takes a free port.
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

    /// Returns the recorded requests in order of arrival, without those that `takeRequests` has removed.
    package func requests() -> [ReceivedRequest] { ledger.read { $0.requests } }

    /// Returns the recorded requests, and removes them.
    package func takeRequests() -> [ReceivedRequest] {
        var taken: [ReceivedRequest] = []
        ledger.note { swap(&taken, &$0.requests) }
        return taken
    }

    /// The number of requests that have arrived, recorded or not.
    package var receivedCount: Int { ledger.read { $0.received } }

    /// The number of answers sent to their end, or until the client left. A stalled one counts when the stall begins.
    package var answeredCount: Int { ledger.read { $0.answered } }

    /// The number of requests that were malformed or too large, and answered with a status of the receiver's own.
    package var refusedCount: Int { ledger.read { $0.refused } }

    package var connectionCount: Int { ledger.read { $0.connections } }

    /// Waits until `count` requests have arrived since the start. Returns false after `limit`, or if the receiver
    /// stops. Blocks the calling thread.
    package func wait(forRequests count: Int, within limit: Duration) -> Bool {
        ledger.wait(within: limit) { $0.received >= count }
    }

    /// As `wait(forRequests:within:)`, for answers that have been sent.
    package func wait(forAnswers count: Int, within limit: Duration) -> Bool {
        ledger.wait(within: limit) { $0.answered >= count }
    }

    /// Closes all connections and the port, and waits until that is done. Ends all waits. Idempotent.
    package func stop() {
        let running = running.withLock { running in
            defer { running = nil }
            return running
        }
        guard let running else { return }
        _ = Socket.close(running.lifeline)
        if pthread_equal(running.thread, pthread_self()) != 0 {
            // The script held the last reference and dropped it, on the receiver's own thread.
            pthread_detach(running.thread)
        } else {
            pthread_join(running.thread, nil)
        }
    }
}

/// Runs the loop on its own thread, which blocks all signals: they go to the program's other threads.
private func startThread(_ loop: EventLoop) -> pthread_t? {
    var all = sigset_t()
    var before = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_SETMASK, &all, &before)
    defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
    return CSystem.startThread { loop.run() }
}
