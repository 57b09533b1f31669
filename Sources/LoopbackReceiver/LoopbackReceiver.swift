import CSystem

/// An HTTP/1.1 server on this machine that answers by a script and records its requests.
///
/// One thread accepts connections, and each connection has a thread. A request is recorded once it has arrived
/// completely; pipelined requests are answered in turn. The server stops on `stop()`, and with its last reference.
package final class LoopbackReceiver: Sendable {
    /// `http://127.0.0.1:PORT`, without a slash at the end; the path of a unix socket.
    package let url: String
    /// The port; 0 for a unix socket.
    package let port: UInt16
    private let responder: Responder

    /// Listens on 127.0.0.1. Port 0 takes a free port.
    ///
    /// - Parameters:
    ///   - bodyLimit: the longest body in bytes. A request with a longer one is answered 413 and not recorded.
    ///   - isMute: whether the server ends its side of each connection at once, and reads without an answer.
    package convenience init(
        port: UInt16 = 0, script: Script = .always(.status(204)), recordsBodies: Bool = true,
        bodyLimit: Int = 256 << 20, isMute: Bool = false
    ) throws(ReceiverError) {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let responder = Responder(script: script, recordsBodies: recordsBodies, bodyLimit: bodyLimit, isMute: isMute)
        try self.init(at: address, of: AF_INET, responder: responder) { "http://127.0.0.1:\($0 ?? port)" }
    }

    /// Listens at an address of this machine.
    ///
    /// - Parameters:
    ///   - address: the address as bind(2) takes it.
    ///   - family: the address's family, such as `AF_INET`.
    ///   - url: returns the URL with the port that the system gave; with the port asked for if it is `nil`.
    package init<Address>(
        at address: Address, of family: Int32, responder: Responder, url: (UInt16?) -> String
    ) throws(ReceiverError) {
        func failure(_ action: String) -> ReceiverError {
            let code = errno
            return ReceiverError(action: action, address: url(nil), code: code)
        }
        let listener = socket(family, streamSocket, 0)
        if listener < 0 { throw failure("listen at") }
        closeOnExec(listener)
        setOption(SO_REUSEADDR, of: SOL_SOCKET, on: listener)
        let isBound = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<Address>.size)) == 0
            }
        }
        guard isBound, listen(listener, 1024) == 0 else {
            defer { close(listener) }
            throw failure("listen at")
        }
        port = OwnAddress(of: listener).port
        self.url = url(port)
        self.responder = responder
        guard responder.start(at: listener) else {
            defer { close(listener) }
            throw failure("start a thread for")
        }
    }

    deinit { responder.beginToStop() }

    /// Returns the recorded requests in order of arrival, without those that `takeRequests` has removed.
    package func requests() -> [ReceivedRequest] { responder.ledger.read { $0.requests } }

    /// Returns the recorded requests, and removes them.
    package func takeRequests() -> [ReceivedRequest] {
        responder.ledger.note { entries in
            defer { entries.requests = [] }
            return entries.requests
        }
    }

    /// The number of requests that have arrived.
    package var receivedCount: Int { responder.ledger.read { $0.received } }

    /// The number of answers sent to their end, or until the client left. A stalled one counts when the stall begins.
    package var answeredCount: Int { responder.ledger.read { $0.answered } }

    package var connectionCount: Int { responder.ledger.read { $0.connections } }

    /// Waits until `count` requests have arrived since the start. Returns false after `limit`, or if the receiver
    /// stops. Blocks the calling thread.
    package func wait(forRequests count: Int, within limit: Duration) -> Bool {
        responder.ledger.wait(within: limit) { $0.received >= count }
    }

    /// As `wait(forRequests:within:)`, for answers that have been sent.
    package func wait(forAnswers count: Int, within limit: Duration) -> Bool {
        responder.ledger.wait(within: limit) { $0.answered >= count }
    }

    /// Closes all connections and the port, and waits until that is done. Ends all waits. Idempotent.
    package func stop() {
        repeat { responder.beginToStop() } while !responder.ledger.wait(within: .seconds(1)) { $0.stopped }
    }
}
