import CSystem
import Synchronization

/// The process of an external command and its three pipes, until the process has ended.
final class ExternalChild {
    private let process: pid_t
    private let input: BytePipe
    private let output: BytePipe
    private let errors: BytePipe
    /// A descriptor that is readable once the process has ended; -1 if the system has none, and the process is polled.
    private let endDescriptor: Int32
    private let unsent: [UInt8]
    private var sent = 0
    private let outputLimit: Int
    private var result = ExternalCommandResult(ending: .exited(status: 0))

    /// The processes that `waitForEnd` waits for.
    private static let running = Mutex<Set<pid_t>>([])

    /// Tells all programs that this process waits for to end.
    static func endAll() {
        running.withLock { for process in $0 { kill(-process, SIGTERM) } }
    }

    /// The time for the process to end after SIGTERM, and again after SIGKILL.
    private static let grace: Duration = .milliseconds(500)

    private init(process: pid_t, input: BytePipe, output: BytePipe, errors: BytePipe, unsent: [UInt8], outputLimit: Int)
    {
        self.process = process
        self.input = input
        self.output = output
        self.errors = errors
        self.unsent = unsent
        self.outputLimit = outputLimit
        endDescriptor = csystem_process_descriptor(process)
        for end in [input.writer, output.reader, errors.reader] {
            _ = fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK)
        }
        if unsent.isEmpty { input.closeWriter() }
    }

    deinit {
        if endDescriptor >= 0 { close(endDescriptor) }
    }

    static func start(
        _ command: ExternalCommand, input bytes: [UInt8], outputLimit: Int
    ) throws(Errno) -> ExternalChild {
        guard let program = command.arguments.first else { throw Errno(EINVAL) }
        let (input, output, errors) = (try BytePipe(), try BytePipe(), try BytePipe())
        let spawn = Spawn(
            descriptors: (input.reader, output.writer, errors.writer), arguments: command.arguments,
            environment: command.environment,
            directory: command.directory, resetsSignals: true, beginsGroup: true)
        let process = try spawn.start(program)
        input.closeReader()
        output.closeWriter()
        errors.closeWriter()
        return ExternalChild(
            process: process, input: input, output: output, errors: errors, unsent: bytes, outputLimit: outputLimit)
    }

    // MARK: - The conversation

    /// Writes the input and reads the output until the process ends. Kills its group after `timeout`. Call it once.
    func waitForEnd(within timeout: Duration) -> ExternalCommandResult {
        Self.running.withLock { _ = $0.insert(process) }
        defer { Self.running.withLock { _ = $0.remove(process) } }
        withoutBrokenPipeSignal {
            var deadline = ContinuousClock.now + max(.zero, timeout)
            var demands = [SIGTERM, SIGKILL]
            var isLate = false
            while !hasEnded {
                let left = ContinuousClock.now.duration(to: deadline)
                if left > .zero {
                    deadline += exchange(for: min(left, Self.longestWait))
                } else if demands.isEmpty {
                    // The process sleeps in the kernel: it can be neither killed nor waited for.
                    break
                } else {
                    isLate = true
                    kill(-process, demands.removeFirst())
                    deadline = .now + Self.grace
                }
            }
            // The pipes still contain what the process wrote before its end, at most a megabyte.
            for _ in 0..<16 where output.reader >= 0 { readOutput() }
            for _ in 0..<16 where errors.reader >= 0 { readErrors() }
            // The group's number can be reused once its leader has been waited for.
            if isLate { kill(-process, SIGKILL) }
            let ending = howItEnded()
            result.ending = isLate ? .timedOut(after: timeout) : ending
        }
        return result
    }

    /// Waits at most `left` for a pipe or for the end of the process, then writes and reads what is possible. Returns
    /// the time by which the wait was too long, because this machine stood still: the program had no part of that time.
    private func exchange(for left: Duration) -> Duration {
        let start = ContinuousClock.now
        var descriptors = [
            pollfd(fd: input.writer, events: Int16(POLLOUT), revents: 0),
            pollfd(fd: output.reader, events: Int16(POLLIN), revents: 0),
            pollfd(fd: errors.reader, events: Int16(POLLIN), revents: 0),
            pollfd(fd: endDescriptor, events: Int16(POLLIN), revents: 0),
        ]
        let pause = left.pollMilliseconds
        if poll(&descriptors, nfds_t(descriptors.count), endDescriptor < 0 ? min(pause, 20) : pause) > 0 {
            if descriptors[0].revents != 0 { writeInput() }
            if descriptors[1].revents != 0 { readOutput() }
            if descriptors[2].revents != 0 { readErrors() }
        }
        let tooLong = start.duration(to: .now) - left
        return tooLong > Self.longestWait ? tooLong : .zero
    }

    /// The longest wait for a pipe. A wait of twice the time has stood still.
    private static let longestWait = Duration.seconds(1)

    private func writeInput() {
        let count = unsent.withUnsafeBytes { write(input.writer, $0.baseAddress! + sent, $0.count - sent) }
        if count >= 0 { sent += count }
        // A program may stop reading its input and still succeed: its exit status decides.
        if sent == unsent.count || count < 0 && errno != EINTR && errno != EAGAIN { input.closeWriter() }
    }

    private func readOutput() {
        if !read(output, into: &result.output, limit: outputLimit) { result.isCut = true }
    }

    private func readErrors() {
        _ = read(errors, into: &result.errors, limit: ExternalCommandResult.errorLimit)
    }

    /// Reads once what is available. Returns `false` if bytes beyond the limit were dropped.
    private func read(_ pipe: BytePipe, into kept: inout [UInt8], limit: Int) -> Bool {
        withUnsafeTemporaryAllocation(byteCount: 1 << 16, alignment: 1) { space in
            let count = CSystem.read(pipe.reader, space.baseAddress!, space.count)
            if count == 0 || count < 0 && errno != EINTR && errno != EAGAIN { pipe.closeReader() }
            guard count > 0 else { return true }
            let wanted = min(count, max(0, limit - kept.count))
            kept.append(contentsOf: space[..<wanted])
            return wanted == count
        }
    }

    // MARK: - The end

    /// Whether the process has ended. Does not reap it, so its number cannot be reused.
    private var hasEnded: Bool {
        var end = siginfo_t()
        let status = waitid(P_PID, id_t(process), &end, WEXITED | WNOHANG | WNOWAIT)
        return status == 0 ? end.si_signo != 0 : errno != EINTR
    }

    /// Reaps the process and returns how it ended. A process that ignores SIGCHLD cannot know it (wait(2), ECHILD).
    private func howItEnded() -> ExternalCommandResult.Ending {
        var status: Int32 = 0
        guard waitpid(process, &status, WNOHANG) == process else { return .unknown }
        let signal = status & 0x7f
        return signal == 0 ? .exited(status: status >> 8 & 0xff) : .killed(signal: signal)
    }
}
