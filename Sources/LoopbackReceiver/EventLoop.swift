import CSystem

/// The receiver's one thread: waits for its sockets, and serves each as far as possible without waiting.
///
/// It uses poll(2) instead of epoll(7): every system has it, and hundreds of connections cost it a few microseconds.
final class EventLoop {
    private let listener: Int32
    private let stopping: Int32
    private let responder: Responder
    private var connections: [Connection] = []
    private var accepted = 0
    /// Whether descriptors have run out. Then no connection is accepted until one has ended.
    private var full = false
    private let isMute: Bool
    private let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 17, alignment: 16)

    /// Takes over both descriptors.
    ///
    /// - Parameters:
    ///   - stopping: readable when the loop must end.
    ///   - isMute: whether each connection is ended at once.
    init(listener: Int32, stopping: Int32, responder: Responder, isMute: Bool) {
        self.isMute = isMute
        self.listener = listener
        self.stopping = stopping
        self.responder = responder
    }

    deinit {
        scratch.deallocate()
        _ = Socket.close(stopping)
    }

    func run() {
        while turn() {}
        _ = Socket.close(listener)
        for connection in connections { connection.end() }
        responder.noteStopped()
    }

    private func turn() -> Bool {
        var awaited = [
            pollfd(fd: stopping, events: Int16(POLLIN), revents: 0),
            pollfd(fd: full ? -1 : listener, events: Int16(POLLIN), revents: 0),
        ]
        awaited.reserveCapacity(connections.count + 2)
        var wake: ContinuousClock.Instant?
        for connection in connections {
            var events = 0
            if connection.wantsToRead { events |= Int(POLLIN) }
            if connection.wantsToWrite { events |= Int(POLLOUT) }
            if let pause = connection.pausedUntil { wake = min(wake ?? pause, pause) }
            awaited.append(pollfd(fd: connection.descriptor, events: Int16(events), revents: 0))
        }
        if poll(&awaited, nfds_t(awaited.count), timeout(until: wake)) < 0 { return errno == EINTR }
        if awaited[0].revents != 0 { return false }
        serve(awaited, now: wake == nil ? nil : .now)
        if awaited[1].revents != 0 { accept() }
        return true
    }

    private func serve(_ awaited: [pollfd], now: ContinuousClock.Instant?) {
        var someAreOver = false
        var over: [Bool] = []
        for (index, connection) in connections.enumerated() {
            let events = Int(awaited[index + 2].revents)
            var isOver = false
            if events != 0 {
                if connection.wantsToRead {
                    if events & Int(POLLIN | POLLHUP | POLLERR) != 0 {
                        isOver = connection.receive(scratch, responder) == .over
                    }
                } else if events & Int(POLLHUP | POLLERR | POLLNVAL) != 0 {
                    connection.abandon(responder)
                    isOver = true
                }
            } else if let pause = connection.pausedUntil, let now, pause <= now {
                // The pause has ended.
            } else {
                continue
            }
            if !isOver { isOver = connection.advance(responder) == .over }
            if isOver {
                if !someAreOver { over = Array(repeating: false, count: connections.count) }
                someAreOver = true
                over[index] = true
            }
        }
        guard someAreOver else { return }
        full = false
        connections = zip(connections, over).filter { !$0.1 }.map(\.0)
    }

    private func accept() {
        while let descriptor = Socket.accept(listener) {
            accepted += 1
            responder.noteConnection()
            let connection = Connection(descriptor: descriptor, number: accepted, reader: responder.reader())
            if isMute { connection.finishSending() }
            connections.append(connection)
        }
        full = errno == EMFILE || errno == ENFILE
    }

    /// Returns milliseconds, rounded up so that the loop does not wake early; -1 for no limit.
    private func timeout(until wake: ContinuousClock.Instant?) -> Int32 {
        guard let wake else { return -1 }
        let (seconds, attoseconds) = (wake - .now).components
        if seconds < 0 || attoseconds < 0 { return 0 }
        let milliseconds = attoseconds / 1_000_000_000_000_000 + (attoseconds % 1_000_000_000_000_000 > 0 ? 1 : 0)
        return Int32(clamping: min(seconds, 1_000_000) * 1000 + milliseconds)
    }
}
