import CSystem

/// A pipe that no child process inherits. Each end is closed once, at the latest by `deinit`.
final class BytePipe {
    private(set) var reader: Int32
    private(set) var writer: Int32

    /// Opens the pipe. Both ends are above the standard streams, even if the caller has closed those, so that a child's
    /// three descriptors can be put in place in any order.
    init() throws(Errno) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw Errno(errno) }
        reader = fcntl(ends[0], F_DUPFD_CLOEXEC, 3)
        writer = fcntl(ends[1], F_DUPFD_CLOEXEC, 3)
        let failure = errno
        for end in ends { close(end) }
        // deinit closes the opened end.
        if reader < 0 || writer < 0 { throw Errno(failure) }
    }

    deinit {
        closeReader()
        closeWriter()
    }

    func closeReader() {
        if reader >= 0 { close(reader) }
        reader = -1
    }

    func closeWriter() {
        if writer >= 0 { close(writer) }
        writer = -1
    }
}

/// Runs `body` with SIGPIPE blocked on this thread, and discards a SIGPIPE raised by a write to a closed pipe.
func withoutBrokenPipeSignal<Result>(_ body: () -> Result) -> Result {
    var brokenPipe = sigset_t()
    var before = sigset_t()
    sigemptyset(&brokenPipe)
    sigaddset(&brokenPipe, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &brokenPipe, &before)
    defer {
        var pending = sigset_t()
        var taken: Int32 = 0
        if sigpending(&pending) == 0, sigismember(&pending, SIGPIPE) == 1 { sigwait(&brokenPipe, &taken) }
        pthread_sigmask(SIG_SETMASK, &before, nil)
    }
    return body()
}
