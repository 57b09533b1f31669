import CSystem
import Policy

/// A delivery agent, as seen by its parent: a child process, and the parent's end of the socket pair between them.
///
/// Only `end` blocks, to wait for a process that has been killed or is about to end.
final class Agent {
    let transport: Transport
    let process: pid_t
    let socket: Int32
    /// The attempts given to the agent and not reported.
    var tickets: Set<Int> = []
    /// The destination of the last attempt given to the agent.
    var destination = ""
    let started = ContinuousClock.now
    /// Whether the agent has reported that it runs.
    var isReady = false
    /// The agent's report on its transport: why it cannot be used, or `.some(nil)` if it can; `nil` before the report.
    var transportReport: UnavailableTransport??
    /// The pipe into which the agent writes its begun attempts.
    private let journal: BytePipe
    /// The attempts in the agent whose requests may have begun to leave. Complete once the agent has ended.
    private(set) var begun: Set<Int> = []
    private var unreadStarts = 0
    /// Frames not taken by the socket. Small frames share a piece; a large frame has its own piece and is not copied.
    /// The last piece stays when its frames have left.
    private var outbox = [Piece()]
    /// The number of bytes of the first piece that the socket has taken.
    private var sent = 0
    private var inbox = FrameBuffer()
    /// What the frames in the outbox and before have said.
    private var history = FrameHistory()

    private struct Piece {
        var frames = FrameWriter()
        /// The file whose descriptor goes with the first byte.
        var file: OpenFile?
    }

    private init(transport: Transport, process: pid_t, socket: Int32, journal: BytePipe) {
        self.transport = transport
        self.process = process
        self.socket = socket
        self.journal = journal
    }

    /// Starts an agent for a transport. Throws `errno`.
    ///
    /// The child gets its end of the socket pair as descriptor 0, the pipe for the numbers of begun attempts as 1,
    /// /dev/null as 2, and no other descriptor. It inherits the environment variables read by its transport, and starts
    /// in the root directory, out of reach of the queue. SIGINT, SIGTERM and SIGHUP, by which a person or a service
    /// manager ends a run, are blocked: the run decides when its agents end, and they end when the socket closes.
    static func start(_ program: AgentProgram, for transport: Transport) throws(Errno) -> Agent {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, streamSocket, 0, &ends) == 0 else { throw Errno(errno) }
        _ = fcntl(ends[0], F_SETFD, FD_CLOEXEC)
        _ = fcntl(ends[1], F_SETFD, FD_CLOEXEC)
        _ = fcntl(ends[0], F_SETFL, fcntl(ends[0], F_GETFL) | O_NONBLOCK)
        preventSIGPIPE(on: ends[0])
        defer { close(ends[1]) }
        do throws(Errno) {
            let journal = try BytePipe()
            _ = fcntl(journal.reader, F_SETFL, O_NONBLOCK)
            let spawn = Spawn(
                descriptors: (ends[1], journal.writer, nil), arguments: program.arguments,
                environment: .forAgents(of: OwnEnvironment.read()),
                directory: program.executable.begins(with: "/") ? "/" : nil, blockedSignals: [SIGINT, SIGTERM, SIGHUP])
            let process = try spawn.start(program.executable)
            journal.closeWriter()
            return Agent(transport: transport, process: process, socket: ends[0], journal: journal)
        } catch {
            close(ends[0])
            throw error
        }
    }

    var hasUnsent: Bool { outbox[0].frames.count > 0 }

    func send(_ frame: Frame) {
        _ = enqueue(frame)
        flush()
    }

    /// Keeps a frame for the next `flush`. Returns false if the frame is too long.
    private func enqueue(_ frame: Frame, _ file: OpenFile? = nil) -> Bool {
        let used = outbox[outbox.count - 1].frames.count
        if used > 0, file != nil || used + frame.room > FrameWriter.sharedLength { outbox.append(Piece()) }
        let last = outbox.count - 1
        guard outbox[last].frames.append(frame, after: &history) else {
            if last > 0 { outbox.removeLast() }
            return false
        }
        if let file { outbox[last].file = file }
        return true
    }

    /// Writes what the socket takes now. `receive` notices a dead agent, because reports may still be unread. Dismisses
    /// a live agent that cannot be written to: it has missed a frame, and the run would wait for it.
    func flush() {
        while hasUnsent {
            let (whole, file) = (outbox[0].frames.count, outbox[0].file)
            let count = outbox[0].frames.bytes.withUnsafeBytes { bytes in
                let (start, length) = (bytes.baseAddress! + sent, whole - sent)
                guard sent == 0, let file else { return CSystem.send(socket, start, length, noSignal) }
                return csystem_send_descriptor(socket, start, length, noSignal, file.descriptor)
            }
            if count >= 0 {
                sent += count
                if sent == whole { removeFirstPiece() }
            } else if errno == EAGAIN {
                return
            } else if errno != EINTR {
                dismiss()
                outbox = [Piece()]
                sent = 0
            }
        }
    }

    private func removeFirstPiece() {
        sent = 0
        if outbox.count > 1 {
            outbox.removeFirst()
        } else {
            outbox[0].frames.clear()
            outbox[0].file = nil
        }
    }

    /// Returns the received frames, and the connection's end: `nil` if open, `""` if regular, else its defect.
    func receive() -> (frames: [Frame], end: String?) {
        var frames: [Frame] = []
        var end: String?
        withUnsafeTemporaryAllocation(byteCount: 1 << 16, alignment: 1) { space in
            while end == nil {
                let count = recv(socket, space.baseAddress, space.count, 0)
                if count > 0 {
                    inbox.append(UnsafeRawBufferPointer(rebasing: space[..<count]))
                    do throws(FrameError) {
                        while let frame = try inbox.next() { frames.append(frame) }
                    } catch {
                        end = "the delivery agent sent \(error)"
                    }
                    if count < space.count { return }
                } else if count == 0 || errno != EINTR && errno != EAGAIN {
                    end = ""
                } else if errno == EAGAIN {
                    return
                }
            }
        }
        return (frames, end)
    }

    /// Gives the agent an attempt to make, which leaves with the next `flush`. Returns false if its frame is too long.
    func hand(_ ticket: Int, _ request: OutgoingRequest) -> Bool {
        guard enqueue(.attempt(ticket: ticket, request), request.bodyPart?.file) else { return false }
        tickets.insert(ticket)
        destination = request.destination
        // The pipe never fills, so the agent never waits for this process to read.
        unreadStarts += 1
        if unreadStarts >= 256 { readJournal() }
        return true
    }

    private func readJournal() {
        unreadStarts = 0
        withUnsafeTemporaryAllocation(of: Int64.self, capacity: 512) { numbers in
            while true {
                let count = read(journal.reader, numbers.baseAddress, numbers.count * 8)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { break }
                for number in numbers.prefix(count / 8) { begun.insert(Int(number)) }
            }
        }
        begun.formIntersection(tickets)
    }

    /// Tells the agent to end: an agent ends at the end of its input.
    func dismiss() {
        shutdown(socket, Int32(SHUT_WR))
    }

    /// Continues the agent if a signal has stopped it. Returns whether it was stopped.
    func continueIfStopped() -> Bool {
        csystem_is_stopped(process) && kill(process, SIGCONT) == 0
    }

    /// Waits for the agent's end until `deadline`, then kills the agent. Returns how it ended.
    @discardableResult
    func end(by deadline: ContinuousClock.Instant? = nil) -> String {
        if let deadline { waitForEnd(until: deadline) }
        // A dying process keeps its exit status despite SIGKILL.
        kill(process, SIGKILL)
        close(socket)
        defer {
            readJournal()
            journal.closeReader()
        }
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 {
            guard errno == EINTR else { return "gone" }
        }
        let signal = status & 0x7f
        if signal == 0 { return "exited with status \(status >> 8 & 0xff)" }
        return "killed by signal \(signal) (\(String(cString: strsignal(signal))))"
    }

    private func waitForEnd(until deadline: ContinuousClock.Instant) {
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { space in
            while true {
                let left = ContinuousClock.now.duration(to: deadline).pollMilliseconds
                var descriptor = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
                guard left > 0, poll(&descriptor, 1, left) > 0 else { return }
                let count = recv(socket, space.baseAddress, space.count, 0)
                if count == 0 || count < 0 && errno != EINTR && errno != EAGAIN { return }
            }
        }
    }
}

extension Duration {
    /// Milliseconds for poll(2): rounded up, never negative, at most an hour.
    var pollMilliseconds: Int32 {
        if self <= .zero { return 0 }
        if self >= .seconds(3600) { return 3_600_000 }
        let (seconds, attoseconds) = boundedComponents
        return Int32(seconds) * 1000 + Int32((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}
