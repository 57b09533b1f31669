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
        return closeDescriptor(descriptor)
    }

    private func noteClosed(_ socket: CurlSocket) {
        socket.isOpen = false
        if socket.isMultiplexed == true { multiplexed.removeAll { $0 === socket } }
    }

    /// Notes whether an answer on a socket is HTTP/2.
    func note(_ socket: CurlSocket, isMultiplexed: Bool) {
        if socket.isMultiplexed == isMultiplexed { return }
        if socket.isMultiplexed == true {
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
        socket.isOpen && socket.hasStray(usesTLS: usesTLS)
    }

    /// Returns whether a socket was ended by an alert of TLS that no transfer has read.
    func hasAlert(_ socket: CurlSocket) -> Bool {
        if socket.isOpen { socket.noteEnd() }
        return socket.endedByAlert
    }

    /// Returns the socket between two addresses; `nil` if not noted. `likely` is looked at first.
    func socket(
        between local: CurlSocket.Endpoint, and remote: CurlSocket.Endpoint, likely: CurlSocket?
    ) -> CurlSocket? {
        if let likely, likely.isOpen, likely.connects(local, remote) { return likely }
        return sockets.values.first { $0.connects(local, remote) }
    }

    /// Returns the sockets connected to a unix socket. Their addresses are equal and do not distinguish them.
    func sockets(to path: String) -> [CurlSocket] {
        sockets.values.filter { $0.path == path }
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
    var requests = 0
    /// Whether the connection speaks HTTP/2, whose frames carry a stream id; `nil` until an answer has begun.
    fileprivate(set) var isMultiplexed: Bool?
    /// Whether the socket has not been closed. Afterwards its descriptor may be another socket's.
    fileprivate(set) var isOpen = true

    fileprivate init(_ descriptor: Int32) { self.descriptor = descriptor }

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

    /// Whether the next record was an alert of TLS when `noteEnd` was last called.
    private(set) var endedByAlert = false

    fileprivate func noteEnd() { endedByAlert = unreadRecord?.isAlert ?? false }

    /// The type of the next TLS record, and whether the record is an alert: an encrypted record shows no type, and is
    /// shorter than any answer (RFC 8446 §5.2). `nil` without the head of a record.
    private var unreadRecord: (type: UInt8, isAlert: Bool)? {
        withUnsafeTemporaryAllocation(byteCount: 5, alignment: 1) { bytes in
            let count = recv(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
            guard count == 5 else { return nil }
            return (bytes[0], bytes[0] == 21 || bytes[0] == 23 && Int(bytes[3]) << 8 | Int(bytes[4]) <= 24)
        }
    }

    /// The path of the unix socket that the socket is connected to.
    fileprivate var path: String? {
        Self.address { getpeername(descriptor, $0, $1) }?.path
    }

    fileprivate func connects(_ local: Endpoint, _ remote: Endpoint) -> Bool {
        if ends == nil {
            // A socket has no ends before it is connected; afterwards they never change.
            guard let own = Self.address({ getsockname(descriptor, $0, $1) })?.endpoint,
                let other = Self.address({ getpeername(descriptor, $0, $1) })?.endpoint
            else { return false }
            ends = (own, other)
        }
        guard let ends, ends.local.port == local.port, ends.remote.port == remote.port else { return false }
        return ends.local.address == local.address && ends.remote.address == remote.address
    }

    private static func address(
        _ get: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) -> (endpoint: Endpoint?, path: String?)? {
        var storage = sockaddr_storage()
        return withUnsafeMutableBytes(of: &storage) { bytes in
            let general = bytes.assumingMemoryBound(to: sockaddr.self).baseAddress!
            var length = socklen_t(bytes.count)
            guard get(general, &length) == 0 else { return nil }
            switch Int32(general.pointee.sa_family) {
            case AF_INET:
                var address = bytes.load(as: sockaddr_in.self)
                return (Endpoint(address: text(AF_INET, &address.sin_addr), port: port(address.sin_port)), nil)
            case AF_INET6:
                var address = bytes.load(as: sockaddr_in6.self)
                return (Endpoint(address: text(AF_INET6, &address.sin6_addr), port: port(address.sin6_port)), nil)
            case AF_UNIX:
                let start = MemoryLayout<sockaddr_un>.offset(of: \.sun_path)!
                let path = bytes[start..<max(start, Int(length))].prefix { $0 != 0 }
                return (nil, String(decoding: path, as: UTF8.self))
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

// The C function, under a name that no method hides.
private func closeDescriptor(_ descriptor: Int32) -> Int32 { close(descriptor) }
