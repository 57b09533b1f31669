@preconcurrency import CSystem
import Policy
import Synchronization

// Only this file writes to standard output and standard error, and only this file ends the process.

/// Standard output, for results. Collects them and writes large pieces. Safe to use from any thread.
package let standardOutput = Output(descriptor: STDOUT_FILENO)

/// An open descriptor that takes text.
package final class Output: Sendable {
    /// The reaction after the reader has closed the pipe, as `head` does.
    package enum WhenClosed: Sendable {
        /// Ends the process by SIGPIPE without a message, as git does.
        case endProcess
        /// Drops the remaining output: the work matters more than its report.
        case discard
    }

    private struct State {
        var pending: [UInt8] = []
        var whenClosed = WhenClosed.endProcess
        var isClosed = false
        /// The first failure, in the system's words.
        var failure: String?
    }

    private let descriptor: Int32
    private let state = Mutex(State())
    private static let pieceSize = 65_536

    package init(descriptor: Int32) { self.descriptor = descriptor }

    package func setWhenClosed(_ reaction: WhenClosed) { state.withLock { $0.whenClosed = reaction } }

    /// Adds text unchanged. Foreign parts must be `escapedForDisplay` before.
    package func write(_ text: String) { write(bytes: text.utf8) }

    package func line(_ text: String) { write(text + "\n") }

    package func write(bytes: some Sequence<UInt8>) {
        state.withLock { state in
            state.pending.append(contentsOf: bytes)
            if state.pending.count >= Self.pieceSize { send(&state) }
        }
    }

    /// Writes the collected output. To be called before a wait, and at the end.
    package func flush() { state.withLock { send(&$0) } }

    /// Whether output is lost from now on: the reader or the terminal is gone, or the disk is full.
    package var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Throws if output is lost from now on: who does not see the results cannot know them. `rest` stays undone then.
    func requireReader(of results: String, _ rest: String, hint: String) throws(CommandFailure) {
        guard isClosed else { return }
        throw CommandFailure(.inputOutput, "standard output takes no more \(results): \(rest)", hint: hint)
    }

    /// Flushes. Returns the reason why output was lost, `nil` if it was not or the reader went away.
    package func finish() -> String? {
        state.withLock { state in
            send(&state)
            return state.failure
        }
    }

    private func send(_ state: inout State) {
        var sent = 0
        while sent < state.pending.count, !state.isClosed {
            let result = state.pending.withUnsafeBytes { bytes in
                CSystem.write(descriptor, bytes.baseAddress! + sent, bytes.count - sent)
            }
            if result >= 0 {
                sent += result
            } else if errno == EPIPE {
                state.isClosed = true
                if state.whenClosed == .endProcess { endByBrokenPipe() }
            } else if errno == EAGAIN {
                waitUntilReady(descriptor, for: POLLOUT)
            } else if errno != EINTR {
                state.isClosed = true
                state.failure = Errno(errno).description
            }
        }
        state.pending.removeAll(keepingCapacity: true)
    }
}

/// The messages to people, on standard error: one line each, with the control characters of the whole line escaped.
package enum Messages {
    /// The format of a line.
    package enum Format: Hashable, Sendable {
        case text
        /// Text after its priority, for the journal (sd-daemon(3)).
        case journal
    }

    /// The priority of a line (syslog(3)).
    package enum Level: Int, Sendable {
        case error = 3
        case warning = 4
        case notice = 5
        case info = 6
    }

    /// The beginning of every line of text.
    static let name = "drainq: "

    private static let current = Mutex(Format.text)

    package static var format: Format {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }

    /// Prints `drainq: error: cannot VERB 'OBJECT': REASON`, and a hint that is a command or a fact.
    package static func error(_ message: String, hint: String? = nil) {
        say(.error, message, after: "error: ", hint: hint)
    }

    /// Prints a warning: the command succeeded, but a person should look at this.
    package static func warning(_ message: String, hint: String? = nil) {
        say(.warning, message, after: "warning: ", hint: hint)
    }

    /// Prints `drainq: …`, a fact that the user must know, or asked for with `--verbose`.
    package static func notice(_ message: String) { say(.notice, message) }

    /// Prints `drainq: …`, a success.
    package static func info(_ message: String) { say(.info, message) }

    /// Writes a message in the current format. `word` precedes the text.
    package static func say(_ level: Level, _ message: String, after word: String = "", hint: String? = nil) {
        let priority = format == .journal ? "<\(level.rawValue)>" : ""
        write("\(priority)\(name)\(escapedForDisplay(word + message))\n")
        if let hint { write("\(priority)\(name)\(escapedForDisplay("hint: " + hint))\n") }
    }

    /// Writes a question, and leaves the cursor behind it.
    package static func question(_ text: String) { put(name + escapedForDisplay(text) + " ") }

    /// Writes a whole line above the footer. Ignores errors of the write: they could be reported nowhere else.
    private static func write(_ line: String) {
        footer.withLock { footer in put(footer.isEmpty ? line : eraseLine + line + footer) }
    }

    /// Writes text by one system call, so that lines of several processes do not mix and the footer does not flicker.
    private static func put(_ text: String) {
        let bytes = Array(text.utf8)
        bytes.withUnsafeBytes { bytes in
            while CSystem.write(STDERR_FILENO, bytes.baseAddress!, bytes.count) < 0, errno == EAGAIN {
                waitUntilReady(STDERR_FILENO, for: POLLOUT)
            }
        }
    }

    /// The last line of the terminal; empty if there is none.
    private static let footer = Mutex("")
    /// Returns the cursor to the first column and erases the line (ECMA-48 EL).
    private static let eraseLine = "\r\u{1B}[K"

    /// Sets the line that stays below all others, at a terminal. An empty message removes it.
    package static func setFooter(_ message: String) {
        let text = message.isEmpty ? "" : name + escapedForDisplay(message)
        footer.withLock { footer in
            if text == footer { return }
            footer = text
            put(eraseLine + text)
        }
    }
}

/// Turns SIGPIPE and SIGXFSZ into errors of the write. `Output` handles a closed pipe; the queue handles a file that
/// may not grow (RLIMIT_FSIZE) like a full disk.
func ignoreSignalsOfWrites() {
    signal(SIGPIPE, SIG_IGN)
    signal(SIGXFSZ, SIG_IGN)
}

/// Restores SIGCHLD. A parent that ignores it passes that on, and the kernel then discards the status of children: the
/// ends of agents, secrets' commands and hooks would look like programs that cannot be started.
func waitForChildren() { signal(SIGCHLD, SIG_DFL) }

/// Clears the umask's bits of the owner. With `UMask=0177` no new directory could be entered before its mode is set.
func keepOwnerPermissions() { umask(umask(0o077) & 0o077) }

/// Opens /dev/null for each closed standard descriptor. Otherwise the next file opened would get the descriptor, and
/// results would be written into it. Reads of input and writes of results still fail, as on the closed descriptor.
func occupyStandardDescriptors() {
    for (descriptor, mode) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_WRONLY)]
    where fcntl(descriptor, F_GETFD) < 0 {
        // `open` returns the lowest free descriptor: this one.
        _ = open("/dev/null", mode)
    }
}

/// Ends the process. All output must be written before.
package func end(with status: ExitStatus) -> Never { exit(status.rawValue) }

/// Waits until the descriptor can be read or written, or its other end is gone. A standard descriptor may be
/// non-blocking: the flag belongs to all processes that share it.
func waitUntilReady(_ descriptor: Int32, for event: some BinaryInteger) {
    var descriptor = pollfd(fd: descriptor, events: Int16(event), revents: 0)
    _ = poll(&descriptor, 1, -1)
}

private func endByBrokenPipe() -> Never {
    signal(SIGPIPE, SIG_DFL)
    raise(SIGPIPE)
    _exit(128 + SIGPIPE)
}
