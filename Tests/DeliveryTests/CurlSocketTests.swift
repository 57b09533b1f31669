import CSystem
import Testing

@testable import Delivery

/// The sockets of libcurl: when written bytes leave, and when a socket has input.
struct CurlSocketTests {
    private let sockets = CurlSockets()
    private let ends: (own: Int32, peer: Int32)

    init() throws {
        ends = try #require(connectedSockets())
    }

    /// Writes a byte.
    private func write() {
        var byte: UInt8 = 0
        #expect(send(ends.own, &byte, 1, noSignal) == 1)
    }

    /// Returns whether the peer has received something, within so many milliseconds.
    private func hasArrived(within milliseconds: Int32 = 0) -> Bool {
        var descriptor = pollfd(fd: ends.peer, events: Int16(POLLIN), revents: 0)
        return poll(&descriptor, 1, milliseconds) == 1
    }

    private func closeAll() {
        #expect(sockets.close(ends.own) == 0)
        close(ends.peer)
    }

    @Test func `bytes written together over HTTP 2 leave at the end`() {
        defer { closeAll() }
        sockets.note(sockets.noteOpened(ends.own), isMultiplexed: true)
        sockets.sendTogether {
            for _ in 0..<3 { write() }
            #if os(Linux)
                #expect(!hasArrived())
            #endif
        }
        #expect(hasArrived(within: 5000))
        var bytes: [UInt8] = [1, 1, 1, 1]
        #expect(recv(ends.peer, &bytes, 4, 0) == 3)
    }

    @Test func `bytes written alone leave at once`() {
        defer { closeAll() }
        sockets.note(sockets.noteOpened(ends.own), isMultiplexed: true)
        sockets.sendTogether {}
        write()
        #expect(hasArrived(within: 5000))
    }

    @Test func `every request over HTTP 1 leaves at once`() {
        defer { closeAll() }
        sockets.note(sockets.noteOpened(ends.own), isMultiplexed: false)
        sockets.sendTogether {
            write()
            #expect(hasArrived(within: 5000))
        }
    }

    @Test func `a socket sends withheld bytes at once when its protocol turns out to be HTTP 1`() {
        defer { closeAll() }
        let socket = sockets.noteOpened(ends.own)
        sockets.note(socket, isMultiplexed: true)
        sockets.sendTogether {
            write()
            sockets.note(socket, isMultiplexed: false)
            #expect(hasArrived(within: 5000))
        }
    }

    #if os(Linux)
        @Test func `a request that follows the server's end was read by nobody`() {
            let socket = sockets.noteOpened(ends.own)
            socket.beginRequest()
            socket.beginRequest()
            close(ends.peer)
            // The kernel of the server resets the connection when the byte arrives.
            write()
            while send(ends.own, [0], 1, noSignal) == 1 {}
            #expect(sockets.close(ends.own) == 0)
            #expect(socket.wasClosedBefore)
        }

        @Test func `a request that the server has taken may have been read`() {
            let socket = sockets.noteOpened(ends.own)
            socket.beginRequest()
            socket.beginRequest()
            write()
            #expect(hasArrived(within: 5000))
            var byte: UInt8 = 0
            #expect(recv(ends.peer, &byte, 1, 0) == 1)
            closeAll()
            #expect(!socket.wasClosedBefore)
        }
    #endif

    @Test func `a closed socket has no input, even after reuse of its descriptor`() {
        let socket = sockets.noteOpened(ends.own)
        var byte: UInt8 = 0
        #expect(send(ends.peer, &byte, 1, noSignal) == 1)
        #expect(sockets.haveInput(1) { _ in socket })
        #expect(sockets.hasStray(socket, usesTLS: false))
        #expect(!sockets.haveInput(1) { _ in nil })
        let successor = sockets.noteOpened(ends.own)
        #expect(!sockets.haveInput(1) { _ in socket })
        #expect(!sockets.hasStray(socket, usesTLS: false))
        #expect(sockets.haveInput(2) { $0 == 0 ? socket : successor })
        closeAll()
        #expect(!sockets.haveInput(1) { _ in successor })
    }
}

/// Returns the two ends of a TCP connection on the loopback, without Nagle's algorithm.
private func connectedSockets() -> (Int32, Int32)? {
    let listener = socket(AF_INET, streamSocket, 0)
    defer { close(listener) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let own = socket(AF_INET, streamSocket, 0)
    let isConnected = withUnsafeMutablePointer(to: &address) { place in
        place.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
            bind(listener, address, length) == 0 && listen(listener, 1) == 0
                && getsockname(listener, address, &length) == 0 && connect(own, address, length) == 0
        }
    }
    guard isConnected else { return nil }
    var yes: Int32 = 1
    setsockopt(own, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
    return (own, accept(listener, nil, nil))
}
