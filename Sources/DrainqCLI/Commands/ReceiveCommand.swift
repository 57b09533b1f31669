import CSystem
import Drain
package import LoopbackReceiver
import Policy

/// The command `drainq receive`: prints requests and gives the chosen answers, until a signal, a count or a time.
///
/// Standard output, in this order:
/// - as text: the URL alone on the first line, for `read -r url`; then a line for each request,
///   `METHOD TARGET BYTES KEY`, the idempotency key last, or `-` without one
/// - `json`: `{"event":"listening","url":…}`, then `{"event":"request",…}` for each, and `{"event":"end",…}`
/// - `bodies` alone: only a line of JSON for each body, for a pipe; JSON as received except for its line breaks,
///   other text as a string, other bytes as `{"base64":…}`
/// - `bodies` and `json`: each request's event has a `body`
package struct ReceiveCommand: Sendable {
    package var port: UInt16
    /// The values of `--answer`; without any, the receiver answers 204.
    package var answers: [String]
    /// The number of answered requests after which the command ends; `nil` for no limit.
    package var count: Int?
    package var maxTime: Duration?
    package var json: Bool
    package var bodies: Bool
    /// The file that gets the URL and a newline, in one write, once the receiver takes requests.
    package var urlFile: String?

    package init(
        port: UInt16 = 0, answers: [String] = [], count: Int? = nil, maxTime: Duration? = nil, json: Bool = false,
        bodies: Bool = false, urlFile: String? = nil
    ) {
        self.port = port
        self.answers = answers
        self.count = count
        self.maxTime = maxTime
        self.json = json
        self.bodies = bodies
        self.urlFile = urlFile
    }

    /// The cause of the end, and the number of requests.
    package struct Summary: Hashable, Sendable {
        package enum Ending: String, Hashable, Sendable {
            case count, time, signal
        }

        package var ending: Ending
        package var requests: Int

        package init(ending: Ending, requests: Int) {
            self.ending = ending
            self.requests = requests
        }
    }

    package enum Failure: Error, Hashable, CustomStringConvertible {
        /// A bad word of `--answer`: status 64.
        case answer(ScriptError)
        /// The receiver cannot listen: status 74, or 77 for EACCES.
        case listening(ReceiverError)
        /// The file for the URL cannot be written: status 74, or 77 for EACCES.
        case urlFile(String, code: Int32)

        package var description: String {
            switch self {
            case .answer(let error): error.description
            case .listening(let error): error.description
            case .urlFile(let path, let code): "cannot write '\(path)': \(Errno(code))"
            }
        }
    }

    /// Runs the receiver and blocks the thread. SIGINT, SIGTERM and SIGHUP end it; afterwards they end the process.
    ///
    /// - Parameters:
    ///   - output: takes a line of standard output without its line break, and flushes it.
    ///   - notice: takes a message for people, `listening on http://127.0.0.1:8080`.
    package func run(output: (String) -> Void, notice: (String) -> Void) throws(Failure) -> Summary {
        let clock = RunClock.ofProcess
        let start = clock.instant()
        let receiver = try listen()
        defer { receiver.stop() }
        let signals = StopSignals { receiver.stop() }
        defer { signals.restore() }
        if let urlFile { try write(receiver.url + "\n", to: urlFile) }
        notice("listening on \(receiver.url)")
        let line = ReceivedLine(json: json, bodies: bodies, start: start)
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
        while printed < count ?? .max, receiver.wait(forRequests: printed + 1, within: remaining()) {
            printWhatCame()
        }
        if let count, printed == count {
            // The last request gets its answer before the connections are closed.
            _ = receiver.wait(forAnswers: count, within: remaining())
        }
        receiver.stop()
        printWhatCame()
        let ending: Summary.Ending =
            if let count, printed >= count { .count } else if signals.received { .signal } else { .time }
        let summary = Summary(ending: ending, requests: printed)
        if let closing = line.closing(summary) { output(closing) }
        return summary
    }

    private func listen() throws(Failure) -> LoopbackReceiver {
        let script: Script
        do throws(ScriptError) {
            script = try Script(answers)
        } catch {
            throw .answer(error)
        }
        do throws(ReceiverError) {
            return try LoopbackReceiver(
                at: .loopback(port: port), script: script, recording: bodies ? .everything : .heads)
        } catch {
            throw .listening(error)
        }
    }

    private func write(_ text: String, to path: String) throws(Failure) {
        let descriptor = open(path.rawCString, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        if descriptor < 0 { throw .urlFile(path, code: errno) }
        let bytes = Array(text.utf8)
        let written = bytes.withUnsafeBytes { systemWrite(descriptor, $0) }
        let code = errno
        if close(descriptor) != 0 || written != bytes.count { throw .urlFile(path, code: written < 0 ? code : EIO) }
    }
}

private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    write(descriptor, bytes.baseAddress, bytes.count)
}
