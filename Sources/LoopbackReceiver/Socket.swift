import CSystem

/// The system calls for sockets. Every descriptor made here is close-on-exec and non-blocking.
enum Socket {
    enum Transfer {
        case bytes(Int)
        case wouldBlock
        /// The peer has finished sending. Only for `receive`.
        case ended
        /// The connection is broken.
        case broken
    }

    static func listen(at address: ListenAddress) throws(ReceiverError) -> Int32 {
        func failure(_ descriptor: Int32 = -1) -> ReceiverError {
            let code = errno
            if descriptor >= 0 { _ = Self.close(descriptor) }
            return ReceiverError(action: "listen at", address: address.description, code: code)
        }
        let descriptor = socket(address.family, streamSocket, 0)
        if descriptor < 0 { throw failure() }
        prepare(descriptor)
        set(SO_REUSEADDR, on: descriptor)
        guard address.withSocketAddress({ bind(descriptor, $0, $1) == 0 }), Self.listen(descriptor) else {
            throw failure(descriptor)
        }
        return descriptor
    }

    private static func listen(_ descriptor: Int32) -> Bool {
        CSystem.listen(descriptor, 1024) == 0
    }

    /// Returns the port of a listening socket; 0 for a unix socket.
    static func port(of descriptor: Int32) -> UInt16 {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(descriptor, $0, &length) }
            let family = Int32(pointer.pointee.ss_family)
            if family == AF_INET {
                return pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                    UInt16(bigEndian: $0.pointee.sin_port)
                }
            }
            if family == AF_INET6 {
                return pointer.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                    UInt16(bigEndian: $0.pointee.sin6_port)
                }
            }
            return 0
        }
    }

    /// Accepts the next connection. Returns `nil` and sets `errno` if there is none.
    static func accept(_ listener: Int32) -> Int32? {
        let descriptor = CSystem.accept(listener, nil, nil)
        if descriptor < 0 { return nil }
        prepare(descriptor)
        var on: Int32 = 1
        _ = setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        return descriptor
    }

    static func receive(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Transfer {
        while true {
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if count > 0 { return .bytes(count) }
            if count == 0 { return .ended }
            if errno == EAGAIN || errno == EWOULDBLOCK { return .wouldBlock }
            if errno != EINTR { return .broken }
        }
    }

    static func send(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Transfer {
        while true {
            let count = CSystem.send(descriptor, bytes.baseAddress, bytes.count, noSignal)
            if count >= 0 { return .bytes(count) }
            if errno == EAGAIN || errno == EWOULDBLOCK { return .wouldBlock }
            if errno != EINTR { return .broken }
        }
    }

    /// Sends FIN and closes, even if a child process inherited the descriptor before it became close-on-exec.
    static func finish(_ descriptor: Int32) {
        finishSending(descriptor)
        _ = close(descriptor)
    }

    static func finishSending(_ descriptor: Int32) {
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Sends RST and closes. Bytes that were sent and have not arrived may be lost.
    static func reset(_ descriptor: Int32) {
        var now = linger(l_onoff: 1, l_linger: 0)
        _ = setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
        _ = close(descriptor)
    }

    static func pair() throws(ReceiverError) -> (reading: Int32, writing: Int32) {
        var ends: (Int32, Int32) = (-1, -1)
        let result = withUnsafeMutableBytes(of: &ends) { pipe($0.bindMemory(to: Int32.self).baseAddress!) }
        if result != 0 { throw ReceiverError(action: "open", address: "a pipe", code: errno) }
        prepare(ends.0)
        prepare(ends.1)
        return ends
    }

    static func close(_ descriptor: Int32) -> Int32 {
        CSystem.close(descriptor)
    }

    private static func prepare(_ descriptor: Int32) {
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        preventSIGPIPE(on: descriptor)
    }

    private static func set(_ option: Int32, on descriptor: Int32) {
        var on: Int32 = 1
        _ = setsockopt(descriptor, SOL_SOCKET, option, &on, socklen_t(MemoryLayout<Int32>.size))
    }
}
