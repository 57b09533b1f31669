import CCurl
import CSystem

/// The open sockets of a libcurl multi handle, and their use so far.
///
/// libcurl does not name the socket of a request, only the addresses of its two ends. So sockets are noted when they
/// are opened, and found by these addresses.
final class CurlSockets {
    /// The unread input of a socket.
    enum Input {
        case none
        case bytes
        /// The peer has closed or reset the connection.
        case closed
    }

    /// The number of calls of curl_multi_perform.
    var performCount = 0
    private var sockets: [Int32: CurlSocket] = [:]
    /// Whether transfers wait until the input of their sockets has been read, or a stream has ended.
    var havePaused = false
    /// The open sockets that speak HTTP/2.
    private var multiplexed: [CurlSocket] = []

    /// Notes a socket opened by libcurl, and returns it.
    func noteOpened(_ descriptor: Int32) -> CurlSocket {
        let socket = CurlSocket(descriptor)
        if let former = sockets.updateValue(socket, forKey: descriptor) { noteClosed(former) }
        return socket
    }

    /// Closes a socket for libcurl.
    func close(_ descriptor: Int32) -> Int32 {
        if let socket = sockets.removeValue(forKey: descriptor) {
            socket.noteEnd()
            noteClosed(socket)
        }
        return CSystem.close(descriptor)
    }

    private func noteClosed(_ socket: CurlSocket) {
        socket.isOpen = false
        if socket.isMultiplexed { multiplexed.removeAll { $0 === socket } }
    }

    /// Notes, before the first request on a socket, the number of its TLS connection (`ccurl_note_tls`; 0 for none) and
    /// with it the version of HTTP.
    func noteBeginning(of socket: CurlSocket, tls: Int) {
        socket.tls = tls
        note(socket, isMultiplexed: ccurl_tls_version(tls) == 2)
    }

    /// Notes whether a socket speaks HTTP/2.
    func note(_ socket: CurlSocket, isMultiplexed: Bool) {
        if socket.isMultiplexed == isMultiplexed { return }
        if socket.isMultiplexed {
            multiplexed.removeAll { $0 === socket }
            socket.holdPackets(false)
        }
        socket.isMultiplexed = isMultiplexed
        if isMultiplexed, socket.isOpen { multiplexed.append(socket) }
    }

    /// Calls `body`. What it writes to HTTP/2 sockets leaves together at its end, or earlier if it fills a packet.
    ///
    /// libcurl writes the frames of a request one by one, without Nagle's algorithm. The kernel would send a packet
    /// for each frame, and the server would wake up for each.
    func sendTogether<Result>(_ body: () -> Result) -> Result {
        for socket in multiplexed { socket.holdPackets(true) }
        defer { for socket in multiplexed { socket.holdPackets(false) } }
        return body()
    }

    /// Acknowledges at once the bytes received by a socket, if the socket is still open.
    ///
    /// A server's next bytes may wait for the acknowledgement (Nagle's algorithm). If the next request carried the
    /// acknowledgement, an unrequested answer could arrive after the check and be taken for this request's.
    func acknowledge(_ socket: CurlSocket) {
        guard socket.isOpen else { return }
        #if os(Linux)
            var yes: Int32 = 1
            setsockopt(
                socket.descriptor, Int32(IPPROTO_TCP), TCP_QUICKACK, &yes, socklen_t(MemoryLayout<Int32>.size))
        #endif
    }

    /// Returns whether one of `count` sockets has unread input, or has been closed by its peer. Asks for all of them by
    /// a single system call. `candidate` returns a socket by its number; `nil` or a closed socket is left out.
    func haveInput(_ count: Int, _ candidate: (Int) -> CurlSocket?) -> Bool {
        withUnsafeTemporaryAllocation(of: pollfd.self, capacity: max(1, count)) { space in
            var filled = 0
            for number in 0..<count {
                guard let socket = candidate(number), socket.isOpen else { continue }
                space[filled] = pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0)
                filled += 1
            }
            return filled > 0 && poll(space.baseAddress, nfds_t(filled), 0) != 0
        }
    }

    /// Returns whether a resting socket, if still open, has received an answer to no request.
    func hasStray(_ socket: CurlSocket, usesTLS: Bool) -> Bool {
        socket.isOpen && !socket.isMultiplexed && socket.hasStray(usesTLS: usesTLS)
    }

    /// Returns the socket between two addresses; `nil` if not noted. `likely` is looked at first.
    func socket(
        between local: CurlSocket.Endpoint, and remote: CurlSocket.Endpoint, likely: CurlSocket?
    ) -> CurlSocket? {
        if let likely, likely.isOpen, likely.connects(local, remote) { return likely }
        return sockets.values.first { $0.connects(local, remote) }
    }
}

/// A socket opened by libcurl.
final class CurlSocket {
    /// An address in libcurl's notation, and a port.
    struct Endpoint: Equatable {
        var address: String
        var port: Int
    }

    fileprivate let descriptor: Int32
    private var ends: (local: Endpoint, remote: Endpoint)?
    /// The number of requests begun on the socket.
    private(set) var requests = 0
    /// The number of its TLS connection (`ccurl_note_tls`); 0 without TLS.
    fileprivate(set) var tls = 0
    /// Whether the connection speaks HTTP/2, whose frames carry a stream id.
    fileprivate(set) var isMultiplexed = false
    /// The kernel's counts when the last request began.
    private var counts: Counts?
    /// Whether the peer had closed the connection before the last request arrived: it sent its end, and acknowledged
    /// nothing of the request. False if the kernel does not tell.
    private(set) var wasClosedBefore = false
    /// Whether the socket has not been closed. Afterwards its descriptor may be another socket's.
    fileprivate(set) var isOpen = true

    fileprivate init(_ descriptor: Int32) { self.descriptor = descriptor }

    /// Notes that a request begins.
    func beginRequest() {
        if requests > 0 { counts = readCounts() }
        requests += 1
    }

    fileprivate func noteEnd() {
        guard let before = counts, let after = readCounts() else { return }
        wasClosedBefore = after.acknowledged == before.acknowledged && after.received > before.received
    }

    /// The bytes of a TCP connection that the peer has acknowledged, and those received in order; an end counts as one.
    private typealias Counts = (acknowledged: UInt64, received: UInt64)

    /// Returns the kernel's counts; `nil` if it has none. tcpi_bytes_acked and tcpi_bytes_received of Linux's tcp_info.
    private func readCounts() -> Counts? {
        #if os(Linux)
            return withUnsafeTemporaryAllocation(byteCount: 136, alignment: 8) { space in
                var length = socklen_t(space.count)
                guard getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, space.baseAddress, &length) == 0,
                    length == 136
                else { return nil }
                return (
                    space.load(fromByteOffset: 120, as: UInt64.self), space.load(fromByteOffset: 128, as: UInt64.self)
                )
            }
        #else
            return nil
        #endif
    }

    /// Keeps what is written until a packet is full, or sends it and keeps no more. Does nothing but on Linux.
    fileprivate func holdPackets(_ holds: Bool) {
        #if os(Linux)
            var number: Int32 = holds ? 1 : 0
            setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_CORK, &number, socklen_t(MemoryLayout<Int32>.size))
        #endif
    }

    /// The socket's input, which stays unread.
    var input: CurlSockets.Input {
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
        if count > 0 { return .bytes }
        return count < 0 && [EAGAIN, EWOULDBLOCK, EINTR].contains(errno) ? .none : .closed
    }

    /// Whether the socket, at rest between two HTTP/1.1 requests, has received a part of an answer to none of them.
    ///
    /// Over TLS an alert or the end of the connection is none.
    func hasStray(usesTLS: Bool) -> Bool {
        usesTLS ? unreadRecord.map { $0.type == 23 && !$0.isAlert } ?? false : input == .bytes
    }

    /// The type of the next TLS record, and whether the record is an alert: an encrypted record shows no type, and is
    /// shorter than any answer (RFC 8446 §5.2). `nil` without the head of a record.
    private var unreadRecord: (type: UInt8, isAlert: Bool)? {
        withUnsafeTemporaryAllocation(byteCount: 5, alignment: 1) { bytes in
            let count = recv(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
            guard count == 5 else { return nil }
            return (bytes[0], bytes[0] == 21 || bytes[0] == 23 && Int(bytes[3]) << 8 | Int(bytes[4]) <= 24)
        }
    }

    fileprivate func connects(_ local: Endpoint, _ remote: Endpoint) -> Bool {
        if ends == nil {
            // A socket has no ends before it is connected; afterwards they never change.
            guard let own = Self.address({ getsockname(descriptor, $0, $1) }),
                let other = Self.address({ getpeername(descriptor, $0, $1) })
            else { return false }
            ends = (own, other)
        }
        guard let ends, ends.local.port == local.port, ends.remote.port == remote.port else { return false }
        return ends.local.address == local.address && ends.remote.address == remote.address
    }

    private static func address(
        _ get: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) -> Endpoint? {
        var storage = sockaddr_storage()
        return withUnsafeMutableBytes(of: &storage) { bytes in
            let general = bytes.assumingMemoryBound(to: sockaddr.self).baseAddress!
            var length = socklen_t(bytes.count)
            guard get(general, &length) == 0 else { return nil }
            switch Int32(general.pointee.sa_family) {
            case AF_INET:
                var address = bytes.load(as: sockaddr_in.self)
                return Endpoint(address: text(AF_INET, &address.sin_addr), port: port(address.sin_port))
            case AF_INET6:
                var address = bytes.load(as: sockaddr_in6.self)
                return Endpoint(address: text(AF_INET6, &address.sin6_addr), port: port(address.sin6_port))
            default: return nil
            }
        }
    }

    private static func text(_ family: Int32, _ address: UnsafeRawPointer) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { space in
            guard let text = inet_ntop(family, address, space.baseAddress!, socklen_t(space.count)) else { return "" }
            return String(cString: text)
        }
    }

    private static func port(_ number: in_port_t) -> Int { Int(in_port_t(bigEndian: number)) }
}
