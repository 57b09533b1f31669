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
    private(set) var request: OutgoingRequest
    let length: Int
    private let began = ContinuousClock.now
    private let file: (any StreamedBody)?
    private let sockets: CurlSockets
    private var fields: UnsafeMutablePointer<ccurl_list>?
    var errorMessage: UnsafeMutablePointer<CChar> { owned.errorMessage }
    private var sent = 0
    private(set) var head = AnswerHead()
    private(set) var body: [UInt8] = []
    private(set) var stop: Stop?
    /// The cache of its connection; `nil` leaves the choice to libcurl.
    var cache: ConnectionCache? {
        didSet { ccurl_set_pointer(handle, CURLOPT_SHARE, cache.map { UnsafeRawPointer($0.pointer) }) }
    }
    /// Whether an option was set on the handle for this transfer only.
    private var hasAlteredHandle = false
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
    /// Whether the connection has carried earlier requests, or may have.
    private var isKept = false
    /// Whether libcurl was told to open a connection.
    private var isFresh: Bool
    /// The time when libcurl was last given the handle.
    private var started: ContinuousClock.Instant
    /// The time when a byte was last seen to move, and the number of bytes until then.
    private var moved: ContinuousClock.Instant
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
        var fields: UnsafeMutablePointer<ccurl_list>?
        request.forEachCurlField { fields = ccurl_list_append(fields, $0) ?? fields }
        self.fields = fields
        length = request.bodyLength ?? 0
        errorMessage[0] = 0
        owned.socketError.pointee = 0
        try owned.set(request)
        (self.request.body, self.request.bodyPart) = (nil, nil)
        setCallbacks()
    }

    deinit {
        freeFields()
    }

    private func freeFields() {
        guard let fields else { return }
        ccurl_set_pointer(handle, CURLOPT_HTTPHEADER, nil)
        ccurl_list_free(fields)
        self.fields = nil
    }

    /// Gives up the handle, once libcurl has no transfer for it, and returns the handle for another transfer; `nil` if
    /// this transfer has altered the handle.
    func leaveHandle() -> CurlHandle? {
        freeFields()
        return stop == nil && requests == 1 && !hasAlteredHandle ? owned : nil
    }

    private func setCallbacks() {
        let this = Unmanaged.passUnretained(self).toOpaque()
        for option in [
            CURLOPT_PRIVATE, CURLOPT_READDATA, CURLOPT_SEEKDATA, CURLOPT_WRITEDATA, CURLOPT_HEADERDATA,
            CURLOPT_XFERINFODATA,
        ] { ccurl_set_pointer(handle, option, this) }
        ccurl_set_pointer(handle, CURLOPT_HTTPHEADER, fields)
        guard Libcurl.hasConnectionHooks else { return }
        ccurl_set_pointer(handle, CURLOPT_SOCKOPTDATA, this)
        ccurl_set_pointer(handle, CURLOPT_PREREQDATA, this)
        // Sockets outlive the transfer that opens them.
        ccurl_set_pointer(handle, CURLOPT_CLOSESOCKETDATA, Unmanaged.passUnretained(sockets).toOpaque())
    }

    /// Sets the functions of a handle, which call the transfer that has the handle.
    static func setFunctions(of handle: OpaquePointer) {
        ccurl_set_data_function(handle, CURLOPT_READFUNCTION) { space, size, count, this in
            CurlTransfer.at(this).give(UnsafeMutableRawBufferPointer(start: space, count: size * count))
        }
        ccurl_set_seek_function(handle) { this, offset, origin in
            guard origin == SEEK_SET else { return 1 }
            CurlTransfer.at(this).sent = Int(offset)
            return 0
        }
        ccurl_set_data_function(handle, CURLOPT_HEADERFUNCTION) { bytes, size, count, this in
            CurlTransfer.at(this).takeLine(UnsafeRawBufferPointer(start: bytes, count: size * count))
        }
        ccurl_set_data_function(handle, CURLOPT_WRITEFUNCTION) { bytes, size, count, this in
            CurlTransfer.at(this).takeBody(UnsafeRawBufferPointer(start: bytes, count: size * count))
        }
        ccurl_set_progress_function(handle) { this, _, received, _, sent in
            CurlTransfer.at(this).note(received + sent) ? 0 : 1
        }
        ccurl_set_number(handle, CURLOPT_NOPROGRESS, 0)
        guard Libcurl.hasConnectionHooks else { return }
        ccurl_set_opened_function(handle) { this, descriptor, _ in
            let transfer = CurlTransfer.at(this)
            transfer.opened.append(transfer.sockets.noteOpened(descriptor))
            return 0
        }
        ccurl_set_close_function(handle) { sockets, descriptor in
            CurlTransfer.sockets(sockets).close(descriptor)
        }
        ccurl_set_prerequest_function(handle) { this, remote, local, remotePort, localPort in
            let isAllowed = CurlTransfer.at(this).beginRequest(
                from: CurlSocket.Endpoint(address: String(cString: local!), port: Int(localPort)),
                to: CurlSocket.Endpoint(address: String(cString: remote!), port: Int(remotePort)))
            return Int32(isAllowed ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT)
        }
    }

    private static func sockets(_ pointer: UnsafeMutableRawPointer?) -> CurlSockets {
        Unmanaged<CurlSockets>.fromOpaque(pointer!).takeUnretainedValue()
    }

    /// Returns the transfer of a handle.
    static func of(_ handle: OpaquePointer) -> CurlTransfer {
        var this: UnsafeMutableRawPointer?
        ccurl_get_pointer(handle, CURLINFO_PRIVATE, &this)
        return at(this)
    }

    private static func at(_ this: UnsafeMutableRawPointer?) -> CurlTransfer {
        Unmanaged<CurlTransfer>.fromOpaque(this!).takeUnretainedValue()
    }

    // MARK: - Called by libcurl

    private func give(_ space: UnsafeMutableRawBufferPointer) -> Int {
        do throws(BodyFileError) {
            let count = try file?.read(at: sent, into: space) ?? 0
            sent += count
            return count
        } catch {
            stop = .bodyFile(error)
            return Int(CURL_READFUNC_ABORT)
        }
    }

    private func takeLine(_ line: UnsafeRawBufferPointer) -> Int {
        moved = .now
        guard head.take(line) else {
            stop = head.defect.map { .head($0) }
            return 0
        }
        if let socket { sockets.note(socket, isMultiplexed: head.version >= 2) }
        if size(CURLINFO_SIZE_UPLOAD_T) < length { noteEarlyLine() }
        return line.count
    }

    /// Notes a line of an answer that comes before the whole request has left.
    private func noteEarlyLine() {
        hasAlteredHandle = true
        // libcurl would stop reading at the announced length, and not see how the server ends the stream.
        if head.version >= 2 { ccurl_set_number(handle, CURLOPT_IGNORE_CONTENT_LENGTH, 1) }
        // The server may not have read the unneeded rest of the body, and would take this rest for the next request.
        if head.isComplete {
            hasEarlyAnswer = true
            ccurl_set_number(handle, CURLOPT_FORBID_REUSE, 1)
        }
    }

    private func takeBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        let room = max(0, request.answerLimit) -| body.count
        body += bytes.prefix(room)
        if bytes.count <= room { return bytes.count }
        stop = .full
        return 0
    }

    /// Notes the progress of a transfer, in bytes. Returns `false` to end the transfer.
    private func note(_ bytes: Int64) -> Bool {
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
    private func beginRequest(from local: CurlSocket.Endpoint, to remote: CurlSocket.Endpoint) -> Bool {
        if requests > 1 || requests == 1 && !String(cString: errorMessage).contains("HTTP_1_1_REQUIRED") {
            stop = .repeated
            return false
        }
        if let path = request.connection.unixSocket {
            // The right socket cannot be told from the others, so all must be without input.
            let candidates = isFresh ? [] : sockets.sockets(to: path)
            if let defect = candidates.lazy.compactMap(defect).first { stop = defect }
            isKept = candidates.contains { $0.requests > 0 }
            for candidate in candidates { candidate.requests += 1 }
        } else if let socket = sockets.socket(between: local, and: remote, likely: opened.last ?? likelySocket) {
            stop = defect(of: socket)
            isKept = socket.requests > 0
            if stop == nil { socket.requests += 1 }
            self.socket = socket
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
    func hasWaited(_ time: Duration) {
        hasAlteredHandle = true
        started = .now
        let left = max(1, Int((request.timeouts.connect - time).pollMilliseconds))
        ccurl_set_number(handle, CURLOPT_CONNECTTIMEOUT_MS, left)
    }

    /// Whether the server ended the TLS handshake of a connection with an alert, before anything else. Over TLS 1.3 the
    /// server refuses a client's certificate when the client has sent its request (RFC 8446 §4.4.2.4).
    var wasRefusedByAlert: Bool {
        head.version == 0 && request.usesTLS && opened.contains { $0.requests <= 1 && sockets.hasAlert($0) }
    }

    /// Whether the connection has carried earlier requests, one at a time.
    var isOnKeptConnection: Bool { isKept && socket?.isMultiplexed != true }

    /// Returns why a socket cannot carry the request; `nil` if it can.
    ///
    /// Input is no defect on a new TLS connection (it may be session tickets), nor over HTTP/2 (it names its request).
    /// A transfer without a cache reuses no HTTP/1.1 connection.
    private func defect(of socket: CurlSocket) -> Stop? {
        let isUnkept = cache == nil && request.connection.unixSocket == nil && socket.requests > 0
        return switch (socket.input, socket.isMultiplexed) {
        case (.none, false) where isUnkept: .stale
        case (.none, _): nil
        // libcurl itself reports how a new connection ended.
        case (.closed, _): socket.requests > 0 ? .stale : nil
        case (.bytes, true): nil
        case (.bytes, false): socket.hasStray(usesTLS: request.usesTLS) ? .stray : .stale
        // A connection shared before its first answer speaks HTTP/2.
        case (.bytes, nil): socket.requests > 0 || request.usesTLS ? nil : .early
        }
    }

    /// Notes that this connection was shut down because the server sends without end.
    func noteEndless() {
        if stop == nil { stop = .endless }
    }

    /// Whether its kept connection had an answer to no request.
    var hasMetStray: Bool { if case .stray = stop { true } else { false } }

    /// Prepares the handle for a fresh connection, if a kept connection proved stale before anything was sent. Returns
    /// `false` if the transfer ended otherwise.
    func restart() -> Bool {
        switch stop {
        case .stale, .stray: stop = nil
        default: return false
        }
        isFresh = true
        hasAlteredHandle = true
        errorMessage[0] = 0
        started = .now
        moved = started
        return ccurl_set_number(handle, CURLOPT_FRESH_CONNECT, 1) == 0
    }

    // MARK: - Time

    func report(_ result: AttemptReport.Result) -> AttemptReport {
        AttemptReport(result: result, duration: began.duration(to: .now))
    }

    /// The time at which the transfer will have been idle for too long; `nil` while it connects: libcurl itself times
    /// connecting.
    var patience: ContinuousClock.Instant? {
        let connected = size(CURLINFO_PRETRANSFER_TIME_T)
        guard connected > 0 else { return nil }
        return max(moved, started + .microseconds(connected)) + request.timeouts.request
    }

    // MARK: - What libcurl knows

    func number(_ info: ccurl_info) -> Int {
        var number = 0
        ccurl_get_number(handle, info, &number)
        return number
    }

    func size(_ info: ccurl_info) -> Int64 {
        var size: Int64 = 0
        ccurl_get_size(handle, info, &size)
        return size
    }
}
