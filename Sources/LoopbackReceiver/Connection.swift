/// One client's connection: reads a request, sends its answer, reads the next. Used only from the receiver's thread.
final class Connection {
    enum State {
        case open
        case over
    }

    private enum Phase {
        case reading
        case playing(AnswerBytes)
        /// The receiver sends nothing more, and discards what arrives until the client closes.
        case stalled
        /// The request was refused. The receiver discards the rest of it, so that no reset destroys the refusal.
        case draining
    }

    let descriptor: Int32
    private let number: Int
    private var reader: RequestReader
    private var phase = Phase.reading
    private var sent = 0
    private var blocked = false
    private var peerFinished = false
    /// The time before which nothing is sent.
    private(set) var pausedUntil: ContinuousClock.Instant?

    /// The bytes that one connection may move before the others.
    private static let turn = 1 << 20
    /// The bytes of pipelined requests that wait in memory. More stay in the kernel.
    private static let backlog = 1 << 20

    init(descriptor: Int32, number: Int, reader: RequestReader) {
        self.descriptor = descriptor
        self.number = number
        self.reader = reader
    }

    var wantsToRead: Bool {
        if peerFinished { return false }
        switch phase {
        case .reading, .stalled, .draining: return true
        case .playing: return reader.waiting < Self.backlog
        }
    }

    var wantsToWrite: Bool { blocked && pausedUntil == nil }

    /// Receives the bytes that have arrived.
    func receive(_ scratch: UnsafeMutableRawBufferPointer, _ responder: Responder) -> State {
        switch Socket.receive(descriptor, into: scratch) {
        case .bytes(let count):
            switch phase {
            case .reading, .playing: reader.append(UnsafeRawBufferPointer(rebasing: scratch[..<count]))
            case .stalled, .draining: break
            }
        case .wouldBlock:
            break
        case .ended:
            peerFinished = true
            switch phase {
            case .stalled, .draining:
                Socket.finish(descriptor)
                return .over
            case .reading, .playing:
                break
            }
        case .broken:
            abandon(responder)
            return .over
        }
        return .open
    }

    /// Closes the connection of a client that has gone, and counts an answer in progress as answered.
    func abandon(_ responder: Responder) {
        if case .playing = phase { responder.noteAnswered() }
        _ = Socket.close(descriptor)
    }

    /// Proceeds as far as possible without waiting: reads complete requests, and sends what the client takes.
    func advance(_ responder: Responder) -> State {
        var budget = Self.turn
        while true {
            switch phase {
            case .stalled, .draining:
                return .open
            case .reading:
                guard read(responder) else {
                    if !peerFinished { return .open }
                    Socket.finish(descriptor)
                    return .over
                }
            case .playing(let bytes):
                switch play(bytes, budget: &budget) {
                case .wait: return .open
                case .broken:
                    abandon(responder)
                    return .over
                case .done:
                    responder.noteAnswered()
                    sent = 0
                    switch bytes.ending {
                    case .open:
                        phase = .reading
                    case .stall:
                        phase = .stalled
                    case .close:
                        Socket.finish(descriptor)
                        return .over
                    case .reset:
                        Socket.reset(descriptor)
                        return .over
                    }
                }
            }
        }
    }

    /// Reads the next request and starts its answer. Returns false if none is complete.
    private func read(_ responder: Responder) -> Bool {
        do throws(RequestReader.Refusal) {
            switch try reader.next() {
            case .incomplete:
                return false
            case .awaitingContinue:
                // Lost only if the client's window is full before the client has received a byte.
                let line = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)
                _ = line.withUnsafeBytes { Socket.send(descriptor, $0) }
                return false
            case .request(let request):
                start(responder.answer(to: request, on: number))
            }
        } catch {
            responder.noteRefused()
            let refusal = AnswerBytes(Answer(error.status), toHead: false, closing: true)
            _ = refusal.withBytes(from: 0) { Socket.send(descriptor, $0) }
            finishSending()
            return false
        }
        return true
    }

    /// Sends nothing more, and discards what arrives.
    func finishSending() {
        Socket.finishSending(descriptor)
        phase = .draining
    }

    private func start(_ bytes: AnswerBytes) {
        phase = .playing(bytes)
        sent = 0
        pausedUntil = bytes.delay > .zero ? .now + bytes.delay : nil
    }

    private enum Progress {
        case wait, done, broken
    }

    private func play(_ bytes: AnswerBytes, budget: inout Int) -> Progress {
        if let pausedUntil {
            if pausedUntil > .now { return .wait }
            self.pausedUntil = nil
        }
        blocked = false
        while sent < bytes.length {
            if budget <= 0 {
                blocked = true
                return .wait
            }
            switch bytes.withBytes(from: sent, { Socket.send(descriptor, $0) }) {
            case .bytes(let count):
                sent += count
                budget -= count
            case .wouldBlock:
                blocked = true
                return .wait
            case .ended, .broken:
                return .broken
            }
            if let pause = bytes.pause(at: sent) {
                pausedUntil = .now + pause
                return .wait
            }
        }
        return .done
    }

    /// Closes the connection because the receiver stops.
    func end() {
        Socket.finish(descriptor)
    }
}
