import CSystem

/// One client's connection. Each has a thread of its own, which reads and writes without a limit of time.
package final class Connection {
    /// What becomes of a connection after an answer.
    package enum Ending {
        /// It serves the next request, unless the client asked to close it.
        case open
        /// A FIN without announcement.
        case close
        case reset
        /// The receiver sends nothing more, and discards what arrives until the client closes.
        case stall
    }

    let descriptor: Int32
    /// The number of the connection, from 1 in order of acceptance.
    let number: Int
    /// Whether the client asks to close the connection after the present request.
    package internal(set) var isLast = false

    /// Takes over the descriptor of a socket.
    init(descriptor: Int32, number: Int) {
        self.descriptor = descriptor
        self.number = number
        closeOnExec(descriptor)
        preventSIGPIPE(on: descriptor)
        setOption(TCP_NODELAY, of: Int32(IPPROTO_TCP), on: descriptor)
    }

    /// Returns what has arrived, after waiting for it; nothing once the client has ended or the connection is broken.
    func receive() -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 1 << 16) { room, count in
            repeat { count = recv(descriptor, room.baseAddress, room.count, 0) } while count < 0 && errno == EINTR
            count = max(count, 0)
        }
    }

    /// Sends the bytes, and waits until the system has taken all. Returns false if the connection is broken.
    package func send(_ bytes: some Collection<UInt8>) -> Bool {
        let sent: Bool? = bytes.withContiguousStorageIfAvailable { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while !rest.isEmpty {
                let count = CSystem.send(descriptor, rest.baseAddress, rest.count, noSignal)
                if count < 0, errno != EINTR { return false }
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(max(count, 0)))
            }
            return true
        }
        return sent ?? send(Array(bytes))
    }

    /// Waits. Returns false, at once, if the client breaks the connection or the receiver stops.
    package func pause(_ duration: Duration) -> Bool {
        let (seconds, attoseconds) = duration.components
        let milliseconds = Int32(
            clamping: min(seconds, 1_000_000) * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
        if milliseconds <= 0 { return true }
        // No event is asked for. poll(2) reports the end of the connection without.
        var waiting = pollfd(fd: descriptor, events: 0, revents: 0)
        return poll(&waiting, 1, milliseconds) == 0
    }

    /// Sends FIN, even if a child process inherited the descriptor before it became close-on-exec.
    func finish() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Discards what arrives until the client closes, so that no reset destroys what was sent.
    func discard() { while !receive().isEmpty {} }

    /// Lets closing the descriptor send RST. Bytes that were sent and have not arrived may be lost.
    func prepareReset() {
        var now = linger(l_onoff: 1, l_linger: 0)
        _ = setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
    }
}

func closeOnExec(_ descriptor: Int32) { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }

func setOption(_ option: Int32, of level: Int32, on descriptor: Int32) {
    var on: Int32 = 1
    _ = setsockopt(descriptor, level, option, &on, socklen_t(MemoryLayout<Int32>.size))
}
