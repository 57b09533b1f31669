import CCurl
import CSystem
import Policy

/// One attempt by libcurl: its handle, its request, and the answer so far.
///
/// libcurl has a pointer to the transfer until the handle is given up, and calls back on the thread that drives it.
final class CurlTransfer {
    /// The reason why this side ended the transfer.
    enum Stop {
        /// The answer's body is longer than the request's limit.
        case full
        case head(AnswerHead.Defect)
        case bodyFile(BodyFileError)
        /// The kept connection has ended, or has no cache to keep it from following its last answer too closely.
        /// Nothing was sent on it.
        case stale
        /// The kept connection has input that belongs to no request. Nothing was sent on it.
        case stray
        /// The server sent bytes on a new connection before the request was sent.
        case early
        /// libcurl was about to send the request a second time.
        case repeated
        /// The server has not chosen HTTP/1.1, which was all that was offered. Nothing was sent.
        case lacksHTTP1
        /// A proxy's answer to CONNECT does not end.
        case longTunnel
        /// The server sends frames without content over HTTP/2, without end.
        case endless
    }

    let ticket: Int
    let origin: CurlConnections.Origin
    let owned: CurlHandle
    var handle: OpaquePointer { owned.pointer }
    /// The request without its body, which libcurl has copied or `file` gives.
    var request: OutgoingRequest
    let length: Int
    let began = ContinuousClock.now
    private let file: (any StreamedBody)?
    let sockets: CurlSockets
    var errorMessage: UnsafeMutablePointer<CChar> { owned.errorMessage }
    /// The number of bytes of the body that libcurl has taken.
    var sent = 0
    private(set) var head = AnswerHead()
    private(set) var body: [UInt8] = []
    private(set) var stop: Stop?
    /// The cache of its connection; `nil` leaves the choice to libcurl.
    var cache: ConnectionCache? {
        didSet { ccurl_set_pointer(handle, CURLOPT_SHARE, cache.map { UnsafeRawPointer($0.pointer) }) }
    }
    /// Whether other transfers may use its connection at the same time.
    var mayShare = false
    /// Whether an option was set on the handle for this transfer only.
    private var hasAlteredHandle = false
    /// Whether its HTTP/2 stream ended without its whole answer.
    var hasBrokenStream = false
    /// Whether its answer came before the whole request had left.
    private(set) var hasEarlyAnswer = false
    /// The number of requests that libcurl was allowed to send.
    private var requests = 0
    /// The sockets opened by libcurl for this transfer.
    private var opened: [CurlSocket] = []
    /// The socket of the request, if known.
    private(set) var socket: CurlSocket?
    /// The socket that was last used in its cache.
    var likelySocket: CurlSocket?
    /// Whether the connection has carried earlier requests.
    private var isKept = false
    /// The major version of HTTP that the connection of the request speaks.
    var version: Int { socket?.isMultiplexed == true ? 2 : 1 }
    /// Whether the rest of the body waits until the input of its socket has been read.
    private var isPaused = false
    /// Whether libcurl was told to open a connection.
    private var isFresh: Bool
    /// The time when libcurl was last given the handle.
    private var started: ContinuousClock.Instant
    /// The time when a byte was last seen to move, and the number of bytes until then.
    private var moved: ContinuousClock.Instant
    /// Whether this process stood still before the request began to leave.
    private var stoodStill = false
    private var progress: Int64 = 0
    /// The pass of the sockets in which libcurl last called the progress function, and the earlier calls in that pass.
    private var told = (pass: 0, count: 0)

    /// Upper bound on the bytes of a proxy's answer to CONNECT read in one pass. libcurl reads byte by byte, calls the
    /// progress function for each byte, and serves no other transfer meanwhile.
    private static let tunnelLimit = 16 << 10

    /// Prepares a transfer. Throws the result if the attempt ends before it has begun.
    init(
        _ request: OutgoingRequest, to origin: CurlConnections.Origin, ticket: Int, sockets: CurlSockets,
        handles: inout CurlHandles
    ) throws(CurlRefusal) {
        do throws(BodyFileError) {
            file = try request.streamedBody()
        } catch {
            throw CurlRefusal(result: error.result)
        }
        owned = try handles.take(for: request)
        self.ticket = ticket
        self.origin = origin
        self.sockets = sockets
        self.request = request
        started = began
        moved = began
        isFresh = request.freshConnection
        length = request.bodyLength ?? 0
        errorMessage[0] = 0
        owned.socketError.pointee = 0
        owned.tls.pointee = 0
        try owned.set(request)
        (self.request.body, self.request.bodyPart) = (nil, nil)
        setCallbacks()
    }

    /// Gives up the handle, once libcurl has no transfer for it, and returns the handle for another transfer; `nil` if
    /// this transfer has altered the handle.
    func leaveHandle() -> CurlHandle? { stop == nil && requests == 1 && !hasAlteredHandle ? owned : nil }

    // MARK: - Called by libcurl

    /// Notes a socket that libcurl has opened for this transfer.
    func noteOpened(_ descriptor: Int32) { opened.append(sockets.noteOpened(descriptor)) }

    /// Gives bytes of the body. What the server has sent is read first: a server that has answered and closed resets
    /// the connection when more of the body arrives, and the answer would be lost.
    func give(_ space: UnsafeMutableRawBufferPointer) -> Int {
        if !head.isComplete, socket?.input == .bytes {
            isPaused = true
            sockets.havePaused = true
            return Int(CURL_READFUNC_PAUSE)
        }
        do throws(BodyFileError) {
            let count = try file?.read(at: sent, into: space) ?? 0
            sent += count
            return count
        } catch {
            stop = .bodyFile(error)
            return Int(CURL_READFUNC_ABORT)
        }
    }

    func takeLine(_ line: UnsafeRawBufferPointer) -> Int {
        moved = .now
        guard head.take(line) else {
            stop = head.defect.map { .head($0) }
            return 0
        }
        if size(CURLINFO_SIZE_UPLOAD_T) < length { noteEarlyLine() }
        return line.count
    }

    /// Notes a line of an answer that comes before the whole request has left.
    private func noteEarlyLine() {
        hasAlteredHandle = true
        // libcurl would stop reading at the announced length, and not see how the server ends the stream.
        if version >= 2 { ccurl_set_number(handle, CURLOPT_IGNORE_CONTENT_LENGTH, 1) }
        // The server may not have read the unneeded rest of the body, and would take this rest for the next request.
        if head.isComplete {
            hasEarlyAnswer = true
            ccurl_set_number(handle, CURLOPT_FORBID_REUSE, 1)
        }
    }

    func takeBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        let room = max(0, request.answerLimit) -| body.count
        body += bytes.prefix(room)
        if bytes.count <= room { return bytes.count }
        stop = .full
        return 0
    }

    /// Notes the progress of a transfer, in bytes. Returns `false` to end the transfer.
    func note(_ bytes: Int64) -> Bool {
        if requests == 0 {
            told = (sockets.performCount, told.pass == sockets.performCount ? told.count + 1 : 0)
            if Libcurl.hasConnectionHooks, told.count > Self.tunnelLimit {
                stop = .longTunnel
                return false
            }
        }
        if bytes == progress { return true }
        progress = bytes
        moved = .now
        return true
    }

    /// Checks the connection chosen by libcurl before the request leaves. Returns `false` to end the transfer.
    ///
    /// An attempt is one request. libcurl would repeat the request if a kept connection dies or an HTTP/2 server
    /// refuses a stream. Only one repetition is allowed: to an HTTP/2 server requiring HTTP/1.1 (RFC 9113 §7). Such a
    /// server has not processed the request and would answer every attempt so.
    func beginRequest(
        from local: @autoclosure () -> CurlSocket.Endpoint, to remote: @autoclosure () -> CurlSocket.Endpoint
    ) -> Bool {
        if requests > 1 || requests == 1 && !String(cString: errorMessage).contains("HTTP_1_1_REQUIRED") {
            stop = .repeated
            return false
        }
        // In a cache of its own the connection is the one that was opened for the transfer, or else the one that
        // rested.
        let likely = opened.last { $0.isOpen } ?? likelySocket.flatMap { $0.isOpen ? $0 : nil }
        let isAlone = cache != nil || isFresh
        if let socket = isAlone ? likely : sockets.socket(between: local(), and: remote(), likely: likely) {
            isKept = socket.requests > 0
            if !isKept { sockets.noteBeginning(of: socket, tls: owned.tls.pointee) }
            self.socket = socket
            stop = defect(of: socket)
            if stop == nil { socket.beginRequest() }
            head = AnswerHead(over: version)
        } else if !isFresh {
            // A connection without a peer was reset while resting. What was sent before is another transfer's.
            stop = .stale
        }
        if stop != nil { return false }
        requests += 1
        moved = .now
        return true
    }

    /// Whether libcurl has been given the handle.
    var isGiven = false
    /// Whether its connection is established and its request has begun to leave.
    var hasBegun: Bool { requests > 0 }

    /// Subtracts the transfer's wait for a scout from its time to connect.
    func subtractWait(_ time: Duration) {
        started = .now
        setTimeToConnect(request.timeouts.connect - time)
    }

    /// Moves the end of the transfer's time-out by a time in which this process stood still. If the time to connect has
    /// passed meanwhile, the connection is made anew: libcurl cannot move that end.
    func addStandstill(_ time: Duration) {
        started += time
        moved += time
        stoodStill = !hasBegun
    }

    private func setTimeToConnect(_ time: Duration) {
        hasAlteredHandle = true
        ccurl_set_number(handle, CURLOPT_CONNECTTIMEOUT_MS, max(1, Int(time.pollMilliseconds)))
    }

    /// The last alert of TLS that the server has sent on the transfer's connection; -1 for none.
    var alert: Int { Int(ccurl_tls_alert(socket?.tls ?? owned.tls.pointee)) }

    /// Whether the server speaks no HTTP/1.1: it has not chosen it, although nothing else was offered.
    func lacksHTTP1(_ code: Int32) -> Bool {
        if case .lacksHTTP1 = stop { return true }
        return code == 35 && request.needsHTTP1 && alert == Self.noApplicationProtocol
    }

    /// The alert of a server that speaks none of the protocols offered (RFC 7301 §3.2).
    private static let noApplicationProtocol = 120

    /// Whether the server had closed its kept connection before the request arrived.
    private var isUnread: Bool { isOnKeptConnection && head.status == 0 && socket?.wasClosedBefore == true }

    /// Whether the connection has carried earlier requests, one at a time.
    var isOnKeptConnection: Bool { isKept && version == 1 }

    /// Returns why a socket cannot carry the request; `nil` if it can.
    ///
    /// Input is no defect on a new TLS connection (it may be session tickets), nor over HTTP/2 (it names its request).
    /// A transfer without a cache reuses no HTTP/1.1 connection.
    private func defect(of socket: CurlSocket) -> Stop? {
        if !isKept {
            if Libcurl.speaksHTTP2, request.isSecure {
                // Another transfer has opened the connection, and ended.
                if socket.tls == 0 { return .stale }
                if request.needsHTTP1, ccurl_tls_version(socket.tls) == 0 { return .lacksHTTP1 }
            }
            // libcurl itself reports how a new connection ended.
            return socket.input == .bytes && !request.usesTLS ? .early : nil
        }
        return switch (socket.input, version) {
        case (.none, 1) where cache == nil: .stale
        case (.none, _), (.bytes, 2...): nil
        case (.closed, _): .stale
        case (.bytes, _): socket.hasStray(usesTLS: request.usesTLS) ? .stray : .stale
        }
    }

    /// Notes that this connection was shut down because the server sends without end.
    func noteEndless() {
        if stop == nil { stop = .endless }
    }

    /// Whether its kept connection had an answer to no request.
    var hasMetStray: Bool { if case .stray = stop { true } else { false } }

    /// Lets libcurl go on with a body that waits until input has been read, and notice the end of an answered stream.
    func resume() {
        guard isPaused || hasEarlyAnswer else { return }
        isPaused = false
        ccurl_resume(handle)
    }

    /// Prepares the handle for a fresh connection, if the server cannot have read the request: nothing was sent, or the
    /// server had closed its kept connection before the request arrived. Returns `false` if the transfer ended
    /// otherwise. A time-out to connect counts only if this process did not stand still. `code` is libcurl's result.
    func restart(after code: Int32) -> Bool {
        if lacksHTTP1(code) {
            request.needsHTTP1 = false
            ccurl_set_number(handle, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
        } else {
            switch stop {
            case .stale, .stray: break
            case .repeated where isUnread, nil where code != 0 && isUnread: (requests, sent) = (0, 0)
            case nil where code == 28 && stoodStill && !hasBegun: setTimeToConnect(request.timeouts.connect)
            default: return false
            }
        }
        stop = nil
        stoodStill = false
        isFresh = true
        hasAlteredHandle = true
        errorMessage[0] = 0
        started = .now
        moved = started
        return ccurl_set_number(handle, CURLOPT_FRESH_CONNECT, 1) == 0
    }

    // MARK: - Time

    /// The time at which the transfer will have been idle for too long; `nil` while it connects: libcurl itself times
    /// connecting.
    var patience: ContinuousClock.Instant? {
        let connected = size(CURLINFO_PRETRANSFER_TIME_T)
        guard connected > 0 else { return nil }
        return max(moved, started + .microseconds(connected)) + request.timeouts.request
    }
}
