import CSystem

/// The process of an external command, with its three pipes, until it has ended.
final class ExternalChild {
    private let process: pid_t
    private let input: BytePipe
    private let output: BytePipe
    private let errors: BytePipe
    /// Readable when the process has ended; -1 where there is no such thing, and it is looked after now and then.
    private let ending: Int32
    private let unsent: [UInt8]
    private var sent = 0
    private let outputLimit: Int
    private var result = ExternalCommandResult(ending: .exited(status: 0))

    /// How long a process has to end after it was asked to, and then after it was killed.
    private static let grace: Duration = .milliseconds(500)

    private init(process: pid_t, input: BytePipe, output: BytePipe, errors: BytePipe, unsent: [UInt8], outputLimit: Int)
    {
        self.process = process
        self.input = input
        self.output = output
        self.errors = errors
        self.unsent = unsent
        self.outputLimit = outputLimit
        ending = csystem_process_descriptor(process)
        for end in [input.writer, output.reader, errors.reader] {
            _ = fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK)
        }
        if unsent.isEmpty { input.closeWriter() }
    }

    deinit {
        if ending >= 0 { close(ending) }
    }

    static func start(
        _ command: ExternalCommand, input bytes: [UInt8], outputLimit: Int
    ) throws(Errno) -> ExternalChild {
        guard let program = command.arguments.first else { throw Errno(EINVAL) }
        let (input, output, errors) = (try BytePipe(), try BytePipe(), try BytePipe())
        let spawn = Spawn(
            descriptors: (input.reader, output.writer, errors.writer), arguments: command.arguments,
            environment: command.environment.sorted { $0.key < $1.key }.map { "\($0)=\($1)" },
            directory: command.directory, resetsSignals: true, beginsGroup: true)
        let process = try spawn.start(program)
        input.closeReader()
        output.closeWriter()
        errors.closeWriter()
        return ExternalChild(
            process: process, input: input, output: output, errors: errors, unsent: bytes, outputLimit: outputLimit)
    }

    // MARK: - The conversation

    /// Feeds and reads the process until it has ended, and makes it end when its time is over. Once.
    func waitForEnd(within timeout: Duration) -> ExternalCommandResult {
        withoutBrokenPipeSignal {
            var alarm = ContinuousClock.now + max(.zero, timeout)
            var demands = [SIGTERM, SIGKILL]
            var isLate = false
            while !hasEnded {
                let left = ContinuousClock.now.duration(to: alarm)
                if left > .zero {
                    exchange(for: left)
                } else if demands.isEmpty {
                    // It sleeps in the kernel and can be neither ended nor waited for.
                    break
                } else {
                    isLate = true
                    kill(-process, demands.removeFirst())
                    alarm = .now + Self.grace
                }
            }
            // What it wrote before it ended is still in the pipes, which hold a megabyte at most.
            for _ in 0..<16 where output.reader >= 0 { readOutput() }
            for _ in 0..<16 where errors.reader >= 0 { readErrors() }
            // The group's number is its own only until its leader has been waited for.
            if isLate { kill(-process, SIGKILL) }
            let ending = howItEnded()
            result.ending = isLate ? .timedOut(after: timeout) : ending
        }
        return result
    }

    /// Waits for one of the pipes or for the end, at most for `left`, and moves what can be moved.
    private func exchange(for left: Duration) {
        var descriptors = [
            pollfd(fd: input.writer, events: Int16(POLLOUT), revents: 0),
            pollfd(fd: output.reader, events: Int16(POLLIN), revents: 0),
            pollfd(fd: errors.reader, events: Int16(POLLIN), revents: 0),
            pollfd(fd: ending, events: Int16(POLLIN), revents: 0),
        ]
        let pause = left.pollMilliseconds
        guard poll(&descriptors, nfds_t(descriptors.count), ending < 0 ? min(pause, 20) : pause) > 0 else { return }
        if descriptors[0].revents != 0 { writeInput() }
        if descriptors[1].revents != 0 { readOutput() }
        if descriptors[2].revents != 0 { readErrors() }
    }

    private func writeInput() {
        let count = unsent.withUnsafeBytes { write(input.writer, $0.baseAddress! + sent, $0.count - sent) }
        if count >= 0 { sent += count }
        // A program that wants no more of its input may be well all the same: its status tells.
        if sent == unsent.count || count < 0 && errno != EINTR && errno != EAGAIN { input.closeWriter() }
    }

    private func readOutput() {
        if !read(output, into: &result.output, limit: outputLimit) { result.isCut = true }
    }

    private func readErrors() {
        _ = read(errors, into: &result.errors, limit: ExternalCommandResult.errorLimit)
    }

    /// Reads what is there, once; `false` if some of it was beyond the limit and is gone.
    private func read(_ pipe: BytePipe, into kept: inout [UInt8], limit: Int) -> Bool {
        withUnsafeTemporaryAllocation(byteCount: 1 << 16, alignment: 1) { space in
            let count = readBytes(pipe.reader, space.baseAddress!, space.count)
            if count == 0 || count < 0 && errno != EINTR && errno != EAGAIN { pipe.closeReader() }
            guard count > 0 else { return true }
            let wanted = min(count, max(0, limit - kept.count))
            kept.append(contentsOf: space[..<wanted])
            return wanted == count
        }
    }

    // MARK: - The end

    /// Whether it has ended, which does not end the process' entry in the table: its number stays its own.
    private var hasEnded: Bool {
        var end = siginfo_t()
        let status = waitid(P_PID, id_t(process), &end, WEXITED | WNOHANG | WNOWAIT)
        return status == 0 ? end.si_signo != 0 : errno != EINTR
    }

    /// ECHILD comes of a parent that ignores SIGCHLD: nobody knows then how its children end.
    private func howItEnded() -> ExternalCommandResult.Ending {
        var status: Int32 = 0
        guard waitpid(process, &status, WNOHANG) == process else { return .notStarted(errno: ECHILD) }
        let signal = status & 0x7f
        return signal == 0 ? .exited(status: status >> 8 & 0xff) : .killed(signal: signal)
    }
}

/// The C function, under a name that a method of the same name does not hide.
private func readBytes(_ descriptor: Int32, _ bytes: UnsafeMutableRawPointer, _ count: Int) -> Int {
    read(descriptor, bytes, count)
}
