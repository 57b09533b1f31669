import CCurl
import CSystem
import Policy

/// One attempt by libcurl: its handle, what is sent, and what has come back.
///
/// libcurl holds a pointer to it until the handle is given up, and calls back on the thread that drives the transfer.
final class CurlTransfer {
    /// Why the transfer was ended from this side.
    enum Stop {
        /// The answer's body is longer than the request's limit.
        case full
        case head(AnswerHead.Defect)
        case bodyFile(BodyFileError)
        /// The kept connection has ended, or has input that belongs to no request; nothing was sent on it.
        case stale
        /// The server spoke on a new connection before the request was sent.
        case early
        /// libcurl was about to send the request a second time.
        case repeated
        /// A proxy's answer to CONNECT does not end.
        case longTunnel
        /// The server sends over HTTP/2, without end, frames that carry nothing.
        case endless
    }

    let ticket: Int
    private let owned: CurlHandle
    var handle: OpaquePointer { owned.pointer }
    /// Without its body, of which libcurl has a copy.
    private(set) var request: OutgoingRequest
    let length: Int
    private let began = ContinuousClock.now
    private let file: (any StreamedBody)?
    private let sockets: CurlSockets
    private var fields: UnsafeMutablePointer<ccurl_list>?
    var words: UnsafeMutablePointer<CChar> { owned.words }
    private var sent = 0
    private(set) var head = AnswerHead()
    private(set) var body: [UInt8] = []
    private(set) var stop: Stop?
    /// Where its connection is kept; `nil` leaves that to libcurl.
    var cache: ConnectionCache? {
        didSet { ccurl_set_pointer(handle, CURLOPT_SHARE, cache.map { UnsafeRawPointer($0.pointer) }) }
    }
    /// Whether the handle was told something that is not for its next transfer.
    private var hasAlteredHandle = false
    /// How many requests libcurl was allowed to send.
    private var requests = 0
    /// The socket that the request left on, if it is known.
    private(set) var socket: CurlSocket?
    /// Whether the connection had carried requests before, or may have.
    private var isKept = false
    /// Whether libcurl was told to open a connection.
    private var isFresh: Bool
    /// When libcurl was given the handle, for the last time.
    private var started: ContinuousClock.Instant
    /// When a byte was last seen to move, and how many had.
    private var moved: ContinuousClock.Instant
    private var progress: Int64 = 0
    /// The pass of the sockets in which libcurl last told of its progress, and how often it did.
    private var told = (pass: 0, count: 0)

    /// Upper bound on the bytes of a proxy's answer to CONNECT that are read at one go. libcurl reads them one by one and
    /// tells of each, without a look at other transfers.
    private static let tunnelLimit = 16 << 10

    /// Throws why the attempt ends before it has begun.
    init(
        _ request: OutgoingRequest, ticket: Int, sockets: CurlSockets, handles: inout CurlHandles
    ) throws(CurlRefusal) {
        do throws(BodyFileError) {
            file = try request.streamedBody()
        } catch {
            throw CurlRefusal(result: error.result)
        }
        owned = try handles.take(for: request)
        self.ticket = ticket
        self.sockets = sockets
        self.request = request
        started = began
        moved = began
        isFresh = request.freshConnection
        fields = request.curlFields.reduce(nil) { list, field in ccurl_list_append(list, field) ?? list }
        length = request.bodyLength ?? 0
        words[0] = 0
        try CurlOptions(handle).set(request)
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

    /// Gives up the handle, which libcurl has no transfer for any more, and returns it for another transfer; `nil` where
    /// this one did not leave it as it was.
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
        if Libcurl.showsConnections { setConnectionCallbacks(this) }
    }

    private func setConnectionCallbacks(_ this: UnsafeMutableRawPointer) {
        // Sockets outlive the transfer that opens them.
        let sockets = Unmanaged.passUnretained(sockets).toOpaque()
        ccurl_set_pointer(handle, CURLOPT_SOCKOPTDATA, sockets)
        ccurl_set_pointer(handle, CURLOPT_CLOSESOCKETDATA, sockets)
        ccurl_set_pointer(handle, CURLOPT_PREREQDATA, this)
        ccurl_set_opened_function(handle) { sockets, descriptor, _ in
            CurlTransfer.sockets(sockets).noteOpened(descriptor)
            return 0
        }
        ccurl_set_close_function(handle) { sockets, descriptor in
            CurlTransfer.sockets(sockets).close(descriptor)
        }
        ccurl_set_prerequest_function(handle) { this, remote, local, remotePort, localPort in
            let isAllowed = CurlTransfer.at(this).beginRequest(
                from: CurlSocket.End(address: String(cString: local!), port: Int(localPort)),
                to: CurlSocket.End(address: String(cString: remote!), port: Int(remotePort)))
            return Int32(isAllowed ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT)
        }
    }

    private static func sockets(_ pointer: UnsafeMutableRawPointer?) -> CurlSockets {
        Unmanaged<CurlSockets>.fromOpaque(pointer!).takeUnretainedValue()
    }

    /// The transfer that a handle was made for.
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
        socket?.isMultiplexed = head.version >= 2
        // The server may not have read what it had no need of, and would take the rest for the next request.
        if head.isComplete, size(CURLINFO_SIZE_UPLOAD_T) < length {
            hasAlteredHandle = true
            ccurl_set_number(handle, CURLOPT_FORBID_REUSE, 1)
        }
        return line.count
    }

    private func takeBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        let room = max(0, request.answerLimit) -| body.count
        body += bytes.prefix(room)
        if bytes.count <= room { return bytes.count }
        stop = .full
        return 0
    }

    /// `false` ends the transfer.
    private func note(_ bytes: Int64) -> Bool {
        if requests == 0 {
            told = (sockets.pass, told.pass == sockets.pass ? told.count + 1 : 0)
            if Libcurl.showsConnections, told.count > Self.tunnelLimit {
                stop = .longTunnel
                return false
            }
        }
        if bytes == progress { return true }
        progress = bytes
        moved = .now
        return true
    }

    /// Looks at the connection that libcurl has chosen, before the request leaves; `false` ends the transfer.
    ///
    /// An attempt is one request. libcurl would send it again where a kept connection dies or a server of HTTP/2 refuses a
    /// stream. The exception is a server of HTTP/2 that requires HTTP/1.1 (RFC 9113 §7): it has done nothing with the
    /// request, and would answer every attempt so.
    private func beginRequest(from local: CurlSocket.End, to remote: CurlSocket.End) -> Bool {
        if requests > 1 || requests == 1 && !String(cString: words).contains("HTTP_1_1_REQUIRED") {
            stop = .repeated
            return false
        }
        if let path = request.connection.unixSocket {
            // Which of them it is cannot be told, so all of them have to be quiet.
            let candidates = isFresh ? [] : sockets.sockets(to: path)
            if candidates.contains(where: { $0.input != .none }) { stop = .stale }
            isKept = candidates.contains { $0.requests > 0 }
            for candidate in candidates { candidate.requests += 1 }
        } else if let socket = sockets.socket(between: local, and: remote) {
            stop = defect(of: socket)
            isKept = socket.requests > 0
            if stop == nil { socket.requests += 1 }
            self.socket = socket
        }
        if stop != nil { return false }
        requests += 1
        moved = .now
        return true
    }

    /// Whether libcurl has been given the handle.
    var isGiven = false
    /// Whether its connection stands and its request has begun to leave.
    var hasBegun: Bool { requests > 0 }

    /// Takes the time that the transfer waited before libcurl was given it from its time for a connection.
    func hasWaited(_ time: Duration) {
        hasAlteredHandle = true
        started = .now
        let left = max(1, Int((request.timeouts.connect - time).pollMilliseconds))
        ccurl_set_number(handle, CURLOPT_CONNECTTIMEOUT_MS, left)
    }

    /// Whether the connection had carried requests before, one at a time.
    var isOnKeptConnection: Bool { isKept && socket?.isMultiplexed != true }

    /// Why a socket cannot carry the request.
    ///
    /// On a new connection by TLS input is no defect: it may be the server's session tickets. Nor is it by HTTP/2, where
    /// it belongs to the requests that it names.
    private func defect(of socket: CurlSocket) -> Stop? {
        switch (socket.input, socket.isMultiplexed) {
        case (.none, _): nil
        // libcurl says by itself how a new connection ended.
        case (.end, _): socket.requests > 0 ? .stale : nil
        case (.bytes, true): nil
        case (.bytes, false): .stale
        // A connection that is shared before its first answer speaks HTTP/2.
        case (.bytes, nil): socket.requests > 0 || isByTLS ? nil : .early
        }
    }

    private var isByTLS: Bool {
        if request.url.prefix(6).lowercased() == "https:" { return true }
        if case .url(let proxy) = request.connection.proxy { return proxy.prefix(6).lowercased() == "https:" }
        return false
    }

    /// Notes that what the server sends on this connection had to be cut off.
    func noteEndless() {
        if stop == nil { stop = .endless }
    }

    /// Prepares the handle for a fresh connection, after a kept one proved stale before anything was sent; `false` where
    /// the transfer ended otherwise.
    func restart() -> Bool {
        guard case .stale = stop else { return false }
        stop = nil
        isFresh = true
        hasAlteredHandle = true
        words[0] = 0
        started = .now
        moved = started
        return ccurl_set_number(handle, CURLOPT_FRESH_CONNECT, 1) == 0
    }

    // MARK: - Time

    func report(_ result: AttemptReport.Result) -> AttemptReport {
        AttemptReport(result: result, duration: began.duration(to: .now))
    }

    /// When it will have been idle for too long; `nil` while it connects, for which libcurl keeps the time itself.
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
