import CSystem
import Drain
import LoopbackReceiver
import Policy

/// `drainq receive`: prints requests and gives the chosen answers, until a signal, a count or a time.
///
/// Standard output, in this order:
/// - as text: the URL alone on the first line, for `read -r url`; then a line for each request,
///   `METHOD TARGET BYTES KEY`, the idempotency key last, or `-` without one
/// - `--json`: `{"event":"listening","url":…}`, then `{"event":"request",…}` for each, and `{"event":"end",…}`
/// - `--bodies` alone: only a line of JSON for each body, for a pipe; JSON as received except for its line breaks,
///   other text as a string, other bytes as `{"base64":…}`
/// - `--bodies` and `--json`: each request's event has a `body`
struct ReceiveCommand: Command {
    static let name = "receive"

    var port = 0
    /// The values of `--answer`; without any, the receiver answers 204.
    var answers: [String] = []
    /// The number of answered requests after which the command ends; `nil` for no limit.
    var count: Int?
    var maxTime: Duration?
    var printsOnlyBodies = false
    /// The file that gets the URL and a newline, in one write, once the receiver takes requests.
    var urlFile: String?
    var isJSON = false
    var verbosity = Verbosity()

    static var options: [Option<Self>] {
        Option(.port, .count(0...65_535), initial: \.port, "listen on this port", "The port; 0 chooses a free one.")
        Option(
            .answer, .text("ANSWER"), each: \.answers, "give this answer",
            """
            An answer, such as `503` or `429 retry-after=5 *2`. Given more than once, the receiver gives the answers \
            in turn.
            """)
        Option(
            .count, .count(1...Int.max), \.count, "end after N requests",
            "Ends once the receiver has answered this many requests.")
        Option(.maxTime, .duration, \.maxTime, "end after this time", "Ends after this time, whatever has arrived.")
        Option(
            .bodies, \.printsOnlyBodies, "print only bodies",
            "Prints only the bodies, each as a line of JSON; with --json, in the object of its request.")
        Option(
            .urlFile, .file("FILE"), \.urlFile, "write the URL to this file",
            """
            Writes the URL to this file once the receiver takes requests, so that a script knows when and where to \
            send.
            """)
        Option.json(\.isJSON)
        Verbosity.options.map { $0.within(\.verbosity) }
    }

    static let description = CommandDescription(
        Self.self, "receive requests on the loopback interface",
        """
        Runs an HTTP receiver on 127.0.0.1 that prints each request and answers with --answer: each answer once, in \
        turn, and the last one from then on; 204 without --answer. It is for tests: it checks no credentials.

        An answer is words between blanks: conditions, the reply, changes to it, and `*N` for N times. Conditions are \
        a method in capitals, a path (`/orders*` matches every path that begins with `/orders`) and a header field \
        such as `X-Tenant:b`; a request that meets none gets 404. The reply is a status, `silence`, `reset` or \
        `close`. Changes are header fields such as `Name:value`, `retry-after=5`, `type=application/json`, \
        `location=URL`, `body=TEXT`, `truncate=N` (bytes that are left out) and `delay=2s`.
        """,
        examples: [
            Example("drainq receive --port 8080 --bodies", "show requests with their bodies"),
            Example("drainq receive --answer 503 --answer 200 --count 2", "fail once, then succeed, then end"),
            Example("drainq receive --answer '429 retry-after=5 *2' --answer '200 delay=1s'", "an overloaded server"),
        ])

    func perform(environment: [String: String]) throws(CommandFailure) -> ExitStatus {
        _ = try run(
            output: {
                standardOutput.line($0)
                standardOutput.flush()
            },
            notice: { if Terminal.isOnStandardError, !verbosity.isQuiet { Messages.notice($0) } })
        return .ok
    }

    /// The cause of the end, and the number of requests.
    struct Summary: Hashable, Sendable {
        enum Ending: String, Hashable, Sendable {
            case count, time, signal
        }

        var ending: Ending
        var requests: Int
    }

    /// Runs the receiver and blocks the thread. SIGINT, SIGTERM and SIGHUP end it; afterwards they end the process.
    ///
    /// - Parameters:
    ///   - output: takes a line of standard output without its line break, and flushes it.
    ///   - notice: takes a message for people, `listening on http://127.0.0.1:8080`.
    func run(output: (String) -> Void, notice: (String) -> Void) throws(CommandFailure) -> Summary {
        let clock = RunClock.ofProcess
        let start = clock.instant()
        let receiver = try listen()
        defer { receiver.stop() }
        Interruption.install()
        defer { Interruption.uninstall() }
        if let urlFile { try write(receiver.url + "\n", to: urlFile) }
        notice("listening on \(receiver.url)")
        let line = ReceivedLine(json: isJSON, bodies: printsOnlyBodies, start: start)
        if let opening = line.opening(url: receiver.url) { output(opening) }

        var printed = 0
        func remaining() -> Duration {
            maxTime.map { max($0 - (clock.instant() - start), .zero) } ?? .seconds(86_400 * 365)
        }
        func printWhatCame() {
            for request in receiver.takeRequests() where printed < count ?? .max {
                output(line.text(of: request))
                printed += 1
            }
        }
        /// Waits with `isOver` in parts of a tenth of a second, until a signal or the end of the time.
        func wait(_ isOver: (_ limit: Duration) -> Bool) -> Bool {
            repeat {
                if isOver(min(remaining(), .milliseconds(100))) { return true }
            } while clock.signals().count == 0 && remaining() > .zero
            return false
        }
        while printed < count ?? .max, clock.signals().count == 0,
            wait({ receiver.wait(forRequests: printed + 1, within: $0) })
        {
            printWhatCame()
        }
        if let count, printed == count {
            // The last request gets its answer before the connections are closed.
            _ = wait { receiver.wait(forAnswers: count, within: $0) }
        }
        receiver.stop()
        printWhatCame()
        let ending: Summary.Ending =
            if let count, printed >= count { .count } else if clock.signals().count > 0 { .signal } else { .time }
        let summary = Summary(ending: ending, requests: printed)
        if let closing = line.closing(summary) { output(closing) }
        return summary
    }

    private func listen() throws(CommandFailure) -> LoopbackReceiver {
        let script: Script
        do throws(UsageError) { script = try Script(answers) } catch { throw CommandFailure(error) }
        do throws(ReceiverError) {
            return try LoopbackReceiver(port: UInt16(port), script: script, recordsBodies: printsOnlyBodies)
        } catch {
            throw failure(error.description, error.code)
        }
    }

    private func write(_ text: String, to path: String) throws(CommandFailure) {
        func failure(_ error: Errno) -> CommandFailure { self.failure("cannot write '\(path)': \(error)", error.code) }
        let descriptor = open(path.rawCString, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        if descriptor < 0 { throw failure(Errno(errno)) }
        let bytes = Array(text.utf8)
        let written = bytes.withUnsafeBytes { CSystem.write(descriptor, $0.baseAddress, $0.count) }
        let code = written < 0 ? errno : EIO
        if close(descriptor) != 0 || written != bytes.count { throw failure(Errno(code)) }
    }

    private func failure(_ text: String, _ code: Int32) -> CommandFailure {
        CommandFailure(code == EACCES ? .permission : .inputOutput, text)
    }
}
