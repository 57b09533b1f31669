import CSystem
import Policy
import Synchronization

/// SIGTERM, SIGINT and SIGHUP as a file descriptor that poll(2) can wait for. An ignored SIGHUP stays ignored.
///
/// The signal handler does two things, both safe in a handler: it counts, and writes a byte into a pipe (self-pipe, D.
/// J. Bernstein). The pipe is never read and stays readable, so every wait ends at once from the first signal on.
package enum Interruption {
    /// The dispositions before `install`; `nil` while the handler is not installed.
    private static let before = Mutex<SignalDispositions?>(nil)
    private static let count = Atomic<Int>(0)
    private static let last = Atomic<Int32>(0)
    private static let pipeEnds: (read: Int32, write: Int32) = {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return (-1, -1) }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        return (ends[0], ends[1])
    }()

    /// Makes the signals interrupt a run instead of ending the process. Idempotent.
    package static func install() {
        // Initialised here, so that the handler never runs an initialiser.
        _ = pipeEnds
        _ = count.load(ordering: .relaxed)
        _ = last.load(ordering: .relaxed)
        let numbers = SignalDispositions.askingToEnd
        before.withLock { if $0 == nil { $0 = SignalDispositions(of: numbers) } }
        for number in numbers {
            var action = signalAction { Interruption.record($0) }
            sigaction(number, &action, nil)
        }
        // The parent process may have blocked the signals, and blocked signals are inherited.
        var all = sigset_t()
        sigemptyset(&all)
        for number in numbers { sigaddset(&all, number) }
        pthread_sigmask(SIG_UNBLOCK, &all, nil)
    }

    /// Gives the signals the effect that they had before `install`: by default they end the process. Only for a process
    /// with nothing in flight to lose.
    package static func uninstall() {
        before.withLock {
            $0?.restore()
            $0 = nil
        }
    }

    /// Records a signal. Called by the signal handler, and by tests in its place.
    ///
    /// Records SIGHUP only as the first signal: at the end of a terminal session a process may get it from the kernel
    /// and from the shell, and the second signal cuts off the attempts in flight.
    package static func record(_ number: Int32) {
        if number == SIGHUP, received.count > 0 { return }
        let saved = errno
        last.store(number, ordering: .relaxed)
        count.add(1, ordering: .sequentiallyConsistent)
        var byte: UInt8 = 1
        _ = write(pipeEnds.write, &byte, 1)
        errno = saved
    }

    /// The number of signals received, and the last of them.
    static var received: (count: Int, last: Int32) {
        (count.load(ordering: .sequentiallyConsistent), last.load(ordering: .relaxed))
    }

    /// The end of a pipe that is readable from the first signal on; -1 if no pipe could be made.
    static var wakeup: Int32 { pipeEnds.read }

    /// Waits until `deadline` by the clock `now`, or until a signal, whichever is first.
    static func sleep(until deadline: ContinuousClock.Instant, now: () -> ContinuousClock.Instant) {
        sleep(until: deadline, now: now) { milliseconds in
            var wakeup = pollfd(fd: pipeEnds.read, events: Int16(POLLIN), revents: 0)
            return poll(&wakeup, 1, milliseconds) > 0 || received.count > 0
        }
    }

    /// Waits until `deadline` by the clock `now`, in parts. `wait` waits for one part, or for less, and returns whether
    /// a signal has come.
    static func sleep(
        until deadline: ContinuousClock.Instant, now: () -> ContinuousClock.Instant,
        wait: (_ milliseconds: Int32) -> Bool
    ) {
        while case let left = (deadline - now()) / .milliseconds(1), left > 0 {
            if wait(Int32(saturating: min(left.rounded(.up), longestPoll))) { return }
        }
    }

    /// Upper bound on one poll(2), in milliseconds. `ContinuousClock` counts the time of the machine's sleep, and
    /// poll(2) does not.
    private static let longestPoll: Double = 3_600_000
}
